import { useId, useState } from 'react'
import { ErrorLine } from '@/components/field'
import { ErrorSummary, KnownUsername, PasswordField, useAppForm } from '@/components/form'
import { Money } from '@/components/money'
import { Notice } from '@/components/notice'
import { Facts } from '@/components/review-dialog'
import { Button } from '@/components/ui/button'
import { Dialog, DialogContent } from '@/components/ui/dialog'
import { errorText, hasCode } from '@/lib/errors'
import { memberSession } from '@/lib/session'
import { useStore } from '@/lib/store'
import { moneyLeftOf, useCloseAccount, type MoneyLeft } from './api'
import { passwordSchema, type PasswordValues } from './password-schema'

/** Asks for the password, and with money left once more, with what is given up. */
export function CloseDialog({ onClose }: { onClose: () => void }) {
  const formId = useId()
  const { email } = useStore(memberSession)
  const form = useAppForm<PasswordValues>(passwordSchema, { password: '' })
  const close = useCloseAccount()
  const [left, setLeft] = useState<MoneyLeft | null>(null)

  async function run({ password }: PasswordValues) {
    try {
      await close.mutateAsync({ password, confirmed: left !== null })
    } catch (error) {
      const money = moneyLeftOf(error)
      if (money) setLeft(money)
      else if (hasCode(error, 'invalid_credentials'))
        form.setError('password', { message: 'This password is not right' }, { shouldFocus: true })
      else
        form.setError('root', {
          message: errorText(error, 'Your account could not be closed. Please try again.'),
        })
    }
  }

  const failure = form.formState.errors.root?.message
  return (
    <Dialog open onOpenChange={(next) => !next && !close.isPending && onClose()}>
      <DialogContent
        title="Close your account?"
        description="This cannot be undone. You are signed out on every device."
        closable={!close.isPending}
        onInteractOutside={(event) => event.preventDefault()}
        footer={
          <>
            <Button variant="outline" onClick={() => !close.isPending && onClose()}>
              Keep my account
            </Button>
            <Button type="submit" form={formId} variant="destructive" busy={close.isPending && 'Closing...'}>
              {left ? 'Give this up and close' : 'Close account'}
            </Button>
          </>
        }
      >
        <form
          id={formId}
          noValidate
          aria-label="Close account"
          className="flex flex-col gap-4"
          onSubmit={(event) => {
            // The button stands outside the form: while it is busy, Enter must not send again.
            if (close.isPending) event.preventDefault()
            else void form.handleSubmit(run)(event)
          }}
        >
          <ErrorSummary form={form} />
          <div role="alert" className="empty:hidden">
            {left ? <GivenUp left={left} /> : null}
          </div>
          <KnownUsername value={email ?? ''} />
          <PasswordField form={form} name="password" label="Your password" autoComplete="current-password" />
          <div role="alert" className="empty:hidden">
            {failure ? <ErrorLine>{failure}</ErrorLine> : null}
          </div>
        </form>
      </DialogContent>
    </Dialog>
  )
}

function GivenUp({ left }: { left: MoneyLeft }) {
  return (
    <Notice tone="warning" title="You have money here">
      <p>If you close the account now, you give up:</p>
      <Facts
        facts={[
          { label: 'Withdrawable balance', value: <Money value={left.available} /> },
          { label: 'Pending withdrawals', value: <Money value={left.pending_withdrawals} /> },
          { label: 'Pending deposits', value: <Money value={left.pending_deposits} /> },
        ]}
      />
      <p className="mt-3">
        Pending requests are cancelled. USDT you have already sent is not returned. To keep the money,
        withdraw it first.
      </p>
    </Notice>
  )
}
