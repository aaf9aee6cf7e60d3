import { ErrorLine } from '@/components/field'
import { ErrorSummary, KnownUsername, PasswordField, TextField, useAppForm } from '@/components/form'
import { Button } from '@/components/ui/button'
import type { Administrator } from '@/lib/administrator-session'
import { errorText } from '@/lib/errors'
import { toasts } from '@/lib/toast-queue'
import { useChangePassword } from './api'
import { passwordSchema, type PasswordValues } from './password-schema'

const empty: PasswordValues = { current: '', next: '', again: '', code: '' }

/** Changes the password of the account that is signed in. */
export function PasswordForm({ admin }: { admin: Administrator }) {
  const form = useAppForm<PasswordValues>(passwordSchema, empty)
  const change = useChangePassword()

  async function save({ current, next, code }: PasswordValues) {
    try {
      await change.mutateAsync({
        email: admin.email,
        currentPassword: current,
        newPassword: next,
        ...(code ? { totp: code } : {}),
      })
      form.reset(empty)
      toasts.success('Password updated successfully', { description: 'Your other sessions were ended.' })
    } catch (error) {
      form.setError('root', { message: errorText(error, 'An unexpected error occurred') })
      toasts.error('Failed to update password')
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
      <KnownUsername value={admin.email} />
      <PasswordField form={form} name="current" label="Current password" autoComplete="current-password" />
      <PasswordField
        form={form}
        name="next"
        label="New password"
        hint="At least 8 characters."
        autoComplete="new-password"
      />
      <PasswordField form={form} name="again" label="Confirm new password" autoComplete="new-password" />
      {admin.two_step ? (
        <TextField
          form={form}
          name="code"
          label="Six-digit code"
          hint="Of your authenticator app."
          inputMode="numeric"
          autoComplete="one-time-code"
        />
      ) : null}
      {failure ? <ErrorLine>{failure}</ErrorLine> : null}
      <Button type="submit" variant="outline" className="self-start" busy={change.isPending && 'Saving...'}>
        Change password
      </Button>
    </form>
  )
}
