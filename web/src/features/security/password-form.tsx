import { ErrorLine } from '@/components/field'
import { ErrorSummary, KnownUsername, PasswordField, useAppForm } from '@/components/form'
import { Button } from '@/components/ui/button'
import { errorText, hasCode } from '@/lib/errors'
import { isCancelled } from '@/lib/proof'
import { memberSession } from '@/lib/session'
import { useStore } from '@/lib/store'
import { toasts } from '@/lib/toast-queue'
import { useChangePassword } from './api'
import { passwordSchema, texts, type PasswordValues } from './password-schema'

const empty: PasswordValues = { current: '', next: '', again: '' }

export function PasswordForm() {
  const { email } = useStore(memberSession)
  const form = useAppForm<PasswordValues>(passwordSchema, empty)
  const change = useChangePassword()

  async function save({ current, next }: PasswordValues) {
    try {
      await change.mutateAsync({ email: email ?? '', current, next })
      form.reset(empty)
      toasts.success('Password updated successfully', { description: 'Other devices were signed out.' })
    } catch (error) {
      if (isCancelled(error)) return
      if (hasCode(error, 'invalid_credentials')) {
        form.setError('current', { message: 'Wrong password' }, { shouldFocus: true })
      } else if (hasCode(error, 'same_password')) {
        form.setError('next', { message: texts.same }, { shouldFocus: true })
      } else if (hasCode(error, 'weak_password')) {
        form.setError('next', { message: errorText(error, texts.short) }, { shouldFocus: true })
      } else {
        form.setError('root', { message: errorText(error, 'Failed to update password') })
        toasts.error('Failed to update password')
      }
    }
  }

  const failure = form.formState.errors.root?.message
  return (
    <form
      noValidate
      aria-label="Change password"
      className="flex flex-col gap-5"
      onSubmit={(event) => void form.handleSubmit(save)(event)}
    >
      <ErrorSummary form={form} />
      <KnownUsername value={email ?? ''} />
      <PasswordField form={form} name="current" label="Current password" autoComplete="current-password" />
      <PasswordField
        form={form}
        name="next"
        label="New password"
        hint="At least 6 characters."
        autoComplete="new-password"
      />
      <PasswordField form={form} name="again" label="Confirm new password" autoComplete="new-password" />
      {failure ? <ErrorLine>{failure}</ErrorLine> : null}
      <p className="text-compact text-muted-foreground">
        Other devices are signed out. For 24 hours withdrawals can be requested, but are not approved.
      </p>
      <Button type="submit" variant="outline" className="self-start" busy={change.isPending && 'Saving...'}>
        Change password
      </Button>
    </form>
  )
}
