import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useWatch } from 'react-hook-form'
import { z } from '@/lib/zod'
import { ErrorLine, Field } from '@/components/field'
import { fieldError, fieldProps, useAppForm } from '@/components/form'
import { LeaveGuard } from '@/components/leave-guard'
import { Notice } from '@/components/notice'
import { Button } from '@/components/ui/button'
import { Textarea } from '@/components/ui/input'
import { groupedAddress } from '@/lib/address'
import { cn } from '@/lib/cn'
import { errorText } from '@/lib/errors'
import type { MemberProfile } from '@/lib/member'
import { isCancelled } from '@/lib/proof'
import { toasts } from '@/lib/toast-queue'
import { useUpdateWallet } from './api'
import { isTrc20Address } from './trc20'

const warning =
  'This does not look like a TRC20 address (34 characters, starting with T). Money sent to a wrong address is lost.'

const schema = z.object({
  wallet: z.string().trim().min(1, 'Wallet address required').max(128, 'Use at most 128 characters'),
})

interface WalletFormProps {
  profile: MemberProfile
}

/** Where withdrawals are paid to. Shown in groups of four until it is being typed. */
export function WalletForm({ profile }: WalletFormProps) {
  const stored = profile.trc20_wallet_address ?? ''
  const [focused, setFocused] = useState(false)
  const form = useAppForm(schema, { wallet: stored })
  const update = useUpdateWallet()
  const typed = useWatch({ control: form.control, name: 'wallet' }).replaceAll(/\s/g, '')
  const doubtful = useDoubt(typed)
  const registered = fieldProps(form, 'wallet')

  async function save({ wallet }: z.infer<typeof schema>) {
    const plain = wallet.replaceAll(/\s/g, '')
    try {
      await update.mutateAsync({ userId: profile.user_id, wallet: plain })
      form.reset({ wallet: plain })
      toasts.success('Profile updated successfully', { money: true })
    } catch (error) {
      if (isCancelled(error)) return
      form.setError(
        'wallet',
        { message: errorText(error, 'Failed to update profile. Please try again.') },
        { shouldFocus: true },
      )
    }
  }

  return (
    <form
      noValidate
      aria-label="Wallet"
      className="flex flex-col gap-5"
      onSubmit={(event) => void form.handleSubmit(save)(event)}
    >
      <LeaveGuard when={form.formState.isDirty} />
      <Field
        label="TRC20 wallet address"
        hint="Withdrawals are paid here. Pending requests keep the old address."
        error={fieldError(form, 'wallet')}
      >
        {(control) => (
          <span className="grid *:col-start-1 *:row-start-1">
            <Textarea
              {...control}
              {...registered}
              rows={1}
              autoComplete="off"
              autoCapitalize="none"
              spellCheck={false}
              className="min-h-11 resize-none font-mono break-all"
              onFocus={() => setFocused(true)}
              onBlur={(event) => {
                setFocused(false)
                void registered.onBlur(event)
              }}
            />
            {typed === '' ? null : (
              // Its room is kept while one types: a press on the button below ends that, and must not move it away.
              <span
                aria-hidden
                className={cn(
                  'pointer-events-none m-px rounded-[7px] bg-card px-3 py-2.5 font-mono text-field md:text-body',
                  focused && 'invisible',
                )}
              >
                {groupedAddress(typed)}
              </span>
            )}
          </span>
        )}
      </Field>
      {doubtful ? (
        <Notice tone="warning" role="status">
          {warning}
        </Notice>
      ) : null}
      {form.formState.errors.root?.message ? (
        <ErrorLine>{form.formState.errors.root.message}</ErrorLine>
      ) : null}
      {stored !== '' && typed !== stored ? (
        <p className="text-compact text-muted-foreground">
          For 24 hours after a change withdrawals can be requested, but are not approved. You are told by
          email.
        </p>
      ) : null}
      <Button
        type="submit"
        variant={stored === '' || form.formState.isDirty ? 'default' : 'outline'}
        className="self-start"
        busy={update.isPending && 'Saving...'}
      >
        Save address
      </Button>
    </form>
  )
}

/** True for an address whose checksum is wrong. Worked out in the browser, without asking anyone. */
function useDoubt(address: string): boolean {
  const check = useQuery({
    queryKey: ['trc20', address],
    queryFn: () => isTrc20Address(address),
    enabled: address !== '',
    staleTime: Infinity,
  })
  return check.data === false
}
