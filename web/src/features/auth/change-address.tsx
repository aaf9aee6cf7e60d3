import { Pencil } from 'lucide-react'
import { useEffect, useState } from 'react'
import { ErrorLine } from '@/components/field'
import { ErrorSummary, fieldError, PasswordField, TextField, useAppForm } from '@/components/form'
import { Button } from '@/components/ui/button'
import type { CreatedAccount } from '@/lib/created-account'
import { UsernameField } from './sign-up-fields'
import type { SignUpValues } from './sign-up-schema'
import { useCreateAccount } from './use-create-account'

interface ChangeAddressProps {
  account: CreatedAccount
  /** Asked for again where it is not known any more. */
  password: string
  onCreated: (account: CreatedAccount, password: string) => void
  onCancel: () => void
}

/** The same answers with another address. The username stays with the first one, whose owner it may be after all. */
export function ChangeAddress({ account, password, onCreated, onCancel }: ChangeAddressProps) {
  const { referrerId, displayName, username, email } = account
  const form = useAppForm<SignUpValues>(
    () => import('./sign-up-schema').then((file) => file.signUpSchema(() => false)),
    { referral: referrerId, displayName, username: '', email, password, read: true },
  )
  const [problem, setProblem] = useState<string | null>(null)
  const shown = ['email', 'username', 'password']
  const create = useCreateAccount(({ field, message }) => {
    if (field && shown.includes(field)) form.setError(field, { message }, { shouldFocus: true })
    else setProblem(message)
  })
  useEffect(() => form.setFocus('email', { shouldSelect: true }), [form])

  async function submit(values: SignUpValues): Promise<void> {
    setProblem(null)
    const created = await create(values)
    if (created) onCreated(created, values.password)
  }

  return (
    <form
      noValidate
      aria-label="Change address"
      className="flex flex-col gap-4"
      onSubmit={(event) => void form.handleSubmit(submit)(event)}
    >
      <p className="flex items-center gap-4 font-semibold">
        <Pencil className="size-5 stroke-[1.75] text-muted-foreground" aria-hidden />
        Change address
      </p>
      <ErrorSummary form={form} />
      <TextField
        form={form}
        name="email"
        label="New email address"
        type="email"
        inputMode="email"
        autoComplete="email"
      />
      <UsernameField
        form={form}
        hint={`${username} is reserved for ${email} for 24 hours. Choose a different one.`}
      />
      {password && !fieldError(form, 'password') ? null : (
        <PasswordField form={form} name="password" label="Password" autoComplete="new-password" />
      )}
      <div role="alert" className="empty:hidden">
        {problem ? <ErrorLine>{problem}</ErrorLine> : null}
      </div>
      <div className="flex flex-wrap gap-3">
        <Button type="submit" busy={form.formState.isSubmitting && 'Sending...'}>
          Send to this address
        </Button>
        <Button variant="ghost" onClick={onCancel}>
          Cancel
        </Button>
      </div>
    </form>
  )
}
