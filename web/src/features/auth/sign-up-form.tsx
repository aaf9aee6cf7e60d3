import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { flushSync } from 'react-dom'
import { ErrorLine } from '@/components/field'
import { ErrorSummary, PasswordField, TextField, useAppForm } from '@/components/form'
import { LeaveGuard } from '@/components/leave-guard'
import { RiskLine } from '@/components/risk-line'
import { Button } from '@/components/ui/button'
import type { CreatedAccount } from '@/lib/created-account'
import { referral } from '@/lib/referral'
import { toasts } from '@/lib/toast-queue'
import { signUp, sponsorQuery } from './api'
import { ReadBox, StrengthLine, UsernameField } from './sign-up-fields'
import type { SignUpValues } from './sign-up-schema'
import { emailKnown, invalidCode, troubleOf, type Trouble } from './sign-up-trouble'
import { SponsorChoice } from './sponsor'
import { dropSignUpDraft, useSignUpDraft } from './use-sign-up-draft'

type SignUpAnswers = Omit<CreatedAccount, 'createdAt'>

interface SignUpFormProps {
  /** The referral code in the address. */
  link: string | null
  /** Given before, when the person comes back to correct them. */
  answers: SignUpAnswers | null
  onCreated: (answers: SignUpAnswers) => void
}

export function SignUpForm({ link, answers, onCreated }: SignUpFormProps) {
  const client = useQueryClient()
  const [codes, setCodes] = useState(() => (link ? referral.meet(link) : referral.read()))
  const isUnknown = (code: string) => client.getQueryData(sponsorQuery(code).queryKey) === null
  const form = useAppForm<SignUpValues>(
    () => import('./sign-up-schema').then((file) => file.signUpSchema(isUnknown)),
    {
      referral: '',
      displayName: answers?.displayName ?? '',
      username: answers?.username ?? '',
      email: answers?.email ?? '',
      password: '',
      read: false,
    },
  )
  useSignUpDraft(form)
  const [problem, setProblem] = useState<string | null>(null)
  useEffect(() => {
    // Who comes back comes to correct the address.
    if (answers) form.setFocus('email')
    // Only at the return.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [])

  function show({ field, message }: Trouble): void {
    // The field must be there before it can take the focus.
    if (field === 'referral') flushSync(() => setCodes(referral.drop(codes)))
    if (field) form.setError(field, { message }, { shouldFocus: true })
    else setProblem(message)
    toasts.error(field ? message : 'Failed to create account')
  }

  async function create(values: SignUpValues): Promise<Trouble | null> {
    const sponsor = await client.query(sponsorQuery(values.referral))
    if (!sponsor) return { field: 'referral', message: invalidCode }
    const { alreadyKnown } = await signUp({ ...values, referrerId: sponsor.id })
    return alreadyKnown ? { field: 'email', message: emailKnown } : null
  }

  async function submit(values: SignUpValues): Promise<void> {
    setProblem(null)
    const trouble = await create(values).catch((error: unknown) => {
      console.error(error)
      return troubleOf(error, values.password.length)
    })
    if (trouble) {
      show(trouble)
      return
    }
    dropSignUpDraft()
    toasts.success('Account created! Please check your email for verification.')
    onCreated({ displayName: values.displayName, username: values.username, email: values.email })
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
