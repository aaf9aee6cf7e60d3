import { useId, useMemo, useState } from 'react'
import { Controller, useWatch } from 'react-hook-form'
import { Link } from 'react-router'
import { AccountName, ActsFor } from '@/components/account-name'
import { ActionBar } from '@/components/action-bar'
import { Address } from '@/components/address'
import { Field } from '@/components/field'
import { fieldError, useAppForm } from '@/components/form'
import { LeaveGuard } from '@/components/leave-guard'
import { MayHaveBeenSent } from '@/components/may-have-been-sent'
import { Money } from '@/components/money'
import { MoneyInput } from '@/components/money-input'
import { Notice } from '@/components/notice'
import { Change, ReviewDialog } from '@/components/review-dialog'
import { Button } from '@/components/ui/button'
import { afterPress } from '@/lib/after-press'
import type { Account } from '@/lib/account'
import { discardDraft, useDraft, useSavedDraft } from '@/lib/draft'
import { hasCode, Refusal } from '@/lib/errors'
import { compare, formatMoney, subtract, type Decimal } from '@/lib/money'
import { paths } from '@/lib/paths'
import { toasts } from '@/lib/toast-queue'
import { useOnline } from '@/lib/use-online'
import type { WithdrawOptions } from './api'
import { typedAmount, withdrawSchema, type WithdrawValues } from './withdraw-schema'

// Refusals that the amount or the address can cure; they belong under the field and not into the dialog.
const fieldCodes = [
  'invalid_amount',
  'insufficient_balance',
  'below_minimum',
  'not_verified',
  'wallet_changed',
]

const empty: WithdrawValues = { amount: '' }

/** What is typed for this account, kept in this tab. */
export function useWithdrawForm(account: Account, options: WithdrawOptions) {
  const schema = useMemo(() => withdrawSchema(options), [options])
  const key = `withdrawal:${account.userId}`
  const form = useAppForm<WithdrawValues>(schema, useSavedDraft(key, empty))
  const values = useWatch({ control: form.control }) as WithdrawValues
  const isStarted = useDraft(key, values, empty)
  return { form, isStarted, clear: () => form.reset(empty), discard: () => discardDraft(key) }
}

interface WithdrawFormProps {
  account: Account
  withdrawal: ReturnType<typeof useWithdrawForm>
  options: WithdrawOptions
  address: string
  /** Sends what was reviewed. */
  onSend: (amount: Decimal) => Promise<void>
  /** The last attempt got no answer. */
  isUnknown: boolean
}

export function WithdrawForm(props: WithdrawFormProps) {
  const { account, withdrawal, options, address, onSend, isUnknown } = props
  const { form, isStarted, discard } = withdrawal
  const [reviewing, setReviewing] = useState<Decimal | null>(null)
  const online = useOnline()
  const offline = useId()
  const amount = typedAmount(useWatch({ control: form.control, name: 'amount' }))

  async function submit(requested: Decimal) {
    try {
      await onSend(requested)
    } catch (error) {
      if (error instanceof Refusal && hasCode(error, ...fieldCodes)) {
        setReviewing(null)
        form.setError('amount', { message: error.message }, { shouldFocus: true })
        return
      }
      toasts.error('Failed to submit withdrawal request. Please try again.', { money: true })
      throw error
    }
  }

  return (
    <form
      noValidate
      aria-label="Withdrawal request"
      className="flex max-w-[560px] flex-col gap-6"
      onSubmit={(event) =>
        void form.handleSubmit((values) => setReviewing(typedAmount(values.amount)))(event)
      }
    >
      <LeaveGuard when={isStarted && reviewing === null} onLeave={discard} />
      {isUnknown ? <MayHaveBeenSent /> : null}
      <Controller
        control={form.control}
        name="amount"
        render={({ field }) => (
          <Field
            label="Amount"
            hint={`At least ${formatMoney(options.minimum)}`}
            error={fieldError(form, 'amount')}
          >
            {(control) => (
              <span className="flex gap-2">
                <span className="grow">
                  <MoneyInput
                    {...control}
                    ref={field.ref}
                    value={field.value}
                    onChange={(value) => {
                      field.onChange(value)
                      form.clearErrors('amount')
                    }}
                    onBlur={() => {
                      field.onBlur()
                      if (field.value !== '') afterPress(() => void form.trigger('amount'))
                    }}
                  />
                </span>
                <Button
                  variant="outline"
                  aria-label={`Max, ${formatMoney(options.balance.requestable)}`}
                  onClick={() => {
                    form.setValue('amount', options.balance.requestable, { shouldDirty: true })
                    void form.trigger('amount')
                  }}
                >
                  Max
                </Button>
              </span>
            )}
          </Field>
        )}
      />
      <Destination address={address} checksumOk={options.wallet_checksum_ok} />
      <ActsFor account={account}>This withdrawal is from the balance of</ActsFor>
      <p className="text-muted-foreground">Processing takes 24-48 hours</p>
      <ActionBar
        summary={
          <>
            <span className="block text-muted-foreground">Amount</span>
            <Money value={amount} className="font-semibold" />
          </>
        }
      >
        <Button type="submit" aria-disabled={!online} aria-describedby={online ? undefined : offline}>
          Review withdrawal
        </Button>
        <Button asChild variant="link" className="hidden px-4 md:inline-flex">
          <Link to={paths.dashboard}>Cancel</Link>
        </Button>
        {online ? null : (
          <span id={offline} className="text-compact text-warning">
            You are offline.
          </span>
        )}
      </ActionBar>
      {reviewing === null ? null : (
        <ReviewDialog
          open
          onClose={() => setReviewing(null)}
          flags={
            options.pending[0] ? (
              <Notice tone="warning" className="mb-4">
                A withdrawal of {formatMoney(options.pending[0].amount)} is already in review. Request this
                one only if you want a second, separate payout.
              </Notice>
            ) : null
          }
          title={`Request withdrawal of ${formatMoney(reviewing)}?`}
          facts={[
            { label: 'Account', value: <AccountName {...account} /> },
            { label: 'Amount', value: <Money value={reviewing} className="font-semibold" /> },
            { label: 'To', value: <Address value={address} check={options.wallet_checksum_ok} /> },
            { label: 'Can be requested', value: <After options={options} amount={reviewing} /> },
          ]}
          warning="Processing takes 24-48 hours. Until it is decided you can cancel it. Once approved this cannot be undone."
          confirmLabel={`Request ${formatMoney(reviewing)}`}
          busyLabel="Requesting..."
          lateText="No response yet. Trying again never makes a second request."
          unansweredText="It may have been sent. Trying again never makes a second request."
          errorFallback="Failed to submit withdrawal request. Please try again."
          onConfirm={() => submit(reviewing)}
        />
      )}
    </form>
  )
}

function After({ options, amount }: { options: WithdrawOptions; amount: Decimal }) {
  const { requestable } = options.balance
  const left = compare(requestable, amount) >= 0 ? subtract(requestable, amount) : null
  return <Change from={<Money value={requestable} />} to={<Money value={left} />} />
}

function Destination({ address, checksumOk }: { address: string; checksumOk: boolean | null }) {
  return (
    <section aria-labelledby="destination">
      <h2 id="destination" className="font-sans text-body">
        Destination, TRC20
      </h2>
      <div className="mt-1 rounded-control border border-input bg-muted px-3 py-2.5">
        <Address value={address} />
      </div>
      <p className="mt-1 text-compact text-muted-foreground">
        Your stored wallet address. It stays with the request once it is sent.{' '}
        <Link to={paths.settings} className="text-link">
          Change it in Settings
        </Link>
      </p>
      {checksumOk === false ? (
        <Notice tone="warning" className="mt-3">
          This does not look like a TRC20 address (34 characters, starting with T). Money sent to a wrong
          address is lost.
        </Notice>
      ) : null}
    </section>
  )
}
