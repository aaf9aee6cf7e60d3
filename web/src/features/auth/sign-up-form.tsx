import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { flushSync } from 'react-dom'
import { ErrorLine } from '@/components/field'
import { ErrorSummary, PasswordField, TextField, useAppForm } from '@/components/form'
import { LeaveGuard } from '@/components/leave-guard'
import { RiskLine } from '@/components/risk-line'
import { Button } from '@/components/ui/button'
import type { CreatedAccount } from '@/lib/created-account'
import { referral } from '@/lib/referral'
import { sponsorQuery } from './api'
import { ReadBox, StrengthLine, UsernameField } from './sign-up-fields'
import type { SignUpValues } from './sign-up-schema'
import { SponsorChoice } from './sponsor'
import { useCreateAccount } from './use-create-account'
import { dropSignUpDraft, useSignUpDraft } from './use-sign-up-draft'

interface SignUpFormProps {
  /** The referral code in the address. */
  link: string | null
  /** The password is kept by whoever is told, and nowhere else. */
  onCreated: (created: CreatedAccount, password: string) => void
}

export function SignUpForm({ link, onCreated }: SignUpFormProps) {
  const client = useQueryClient()
  const [codes, setCodes] = useState(() => (link ? referral.meet(link) : referral.read()))
  const isUnknown = (code: string) => client.getQueryData(sponsorQuery(code).queryKey) === null
  const form = useAppForm<SignUpValues>(
    () => import('./sign-up-schema').then((file) => file.signUpSchema(isUnknown)),
    {
      referral: '',
      displayName: '',
      username: '',
      email: '',
      password: '',
      read: false,
    },
  )
  useSignUpDraft(form)
  const [problem, setProblem] = useState<string | null>(null)

  const create = useCreateAccount(({ field, message }) => {
    // The field must be there before it can take the focus.
    if (field === 'referral') flushSync(() => setCodes(referral.drop(codes)))
    if (field) form.setError(field, { message }, { shouldFocus: true })
    else setProblem(message)
  })

  async function submit(values: SignUpValues): Promise<void> {
    setProblem(null)
    const created = await create(values)
    if (!created) return
    dropSignUpDraft()
    onCreated(created, values.password)
  }

  const { dirtyFields, isSubmitting } = form.formState
  // A code that is known to exist is kept, and only one that is not would be lost.
  const isTyped = Object.keys(dirtyFields).some((name) => name !== 'referral' || codes.length === 0)
  return (
    <form
      noValidate
      className="flex flex-col gap-5"
      onSubmit={(event) => void form.handleSubmit(submit)(event)}
    >
      <LeaveGuard when={isTyped} />
      <ErrorSummary form={form} />
      <SponsorChoice form={form} link={link} codes={codes} onCodes={setCodes} />
      <TextField form={form} name="displayName" label="Full name" autoComplete="name" />
      <UsernameField form={form} />
      <TextField form={form} name="email" label="Email" type="email" inputMode="email" autoComplete="email" />
      <PasswordField
        form={form}
        name="password"
        label="Password"
        hint="At least 6 characters. Longer is stronger."
        autoComplete="new-password"
      />
      <StrengthLine form={form} />
      <div className="flex flex-col gap-3 border-t pt-5">
        <RiskLine />
        <ReadBox form={form} />
      </div>
      <div role="alert" className="empty:hidden">
        {problem ? <ErrorLine>{problem}</ErrorLine> : null}
      </div>
      <Button type="submit" size="wide" busy={isSubmitting && 'Creating account...'}>
        Create account
      </Button>
    </form>
  )
}
