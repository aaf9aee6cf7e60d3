import { CircleCheck, LoaderCircle, TriangleAlert } from 'lucide-react'
import { useState, type ReactNode } from 'react'
import { Controller, useWatch, type UseFormReturn } from 'react-hook-form'
import { Link } from 'react-router'
import { ErrorLine } from '@/components/field'
import { ErrorSummary, fieldError, PasswordField, TextField, useAppForm } from '@/components/form'
import { Gauge } from '@/components/gauge'
import { RiskLine } from '@/components/risk-line'
import { Button } from '@/components/ui/button'
import { Checkbox } from '@/components/ui/checkbox'
import { hasCode, Refusal } from '@/lib/errors'
import { paths } from '@/lib/paths'
import { toasts } from '@/lib/toast-queue'
import { useUsernameCheck, type UsernameState } from '@/lib/use-username-check'
import { signUp } from './api'
import type { SignUpValues } from './sign-up-schema'
import { passwordStrength, tooShort } from './strength'

const usernameTaken = 'Username already exists. Please choose a different username.'

const schema = () => import('./sign-up-schema').then((file) => file.signUpSchema)

/** What a sign-up leaves behind for the next one: everything but the password and the confirmation. */
export type SignUpAnswers = Pick<SignUpValues, 'displayName' | 'username' | 'email'>
type SignUpForm = UseFormReturn<SignUpValues>

function UsernameNote({ state }: { state: UsernameState }): ReactNode {
  const notes = {
    idle: null,
    taken: null,
    checking: (
      <span className="flex items-center gap-1.5 text-muted-foreground">
        <LoaderCircle className="size-4 animate-spin" aria-hidden />
        Checking
      </span>
    ),
    available: (
      <span className="flex items-center gap-1.5 text-positive">
        <CircleCheck className="size-4" aria-hidden />
        Available
      </span>
    ),
    unknown: (
      <span className="flex items-center gap-1.5 text-warning">
        <TriangleAlert className="size-4" aria-hidden />
        Error checking username availability
      </span>
    ),
  }
  return notes[state]
}

function UsernameField({ form }: { form: SignUpForm }) {
  const state = useUsernameCheck(useWatch({ control: form.control, name: 'username' }))
  return (
    <div>
      <TextField
        form={form}
        name="username"
        label="Username"
        hint="3 to 30 letters, digits or underscores."
        note={<UsernameNote state={state} />}
        autoComplete="username"
        autoCapitalize="none"
        spellCheck={false}
        maxLength={30}
      />
      {state === 'taken' && !fieldError(form, 'username') ? (
        <div role="alert">
          <ErrorLine className="mt-1">{usernameTaken}</ErrorLine>
        </div>
      ) : null}
    </div>
  )
}

function StrengthLine({ form }: { form: SignUpForm }) {
  const password = useWatch({ control: form.control, name: 'password' })
  if (!password) return null
  const { score, word } = passwordStrength(password)
  return (
    <div className="-mt-2">
      <Gauge
        label="Password strength"
        valueText={word}
        value={score}
        max={4}
        marks={[0, 1, 2, 3, 4].map((at) => ({ at }))}
        className="[--ground:var(--background)]"
      />
      <p className="text-compact text-muted-foreground">Strength: {word}</p>
    </div>
  )
}

function ReadBox({ form }: { form: SignUpForm }) {
  const error = fieldError(form, 'read')
  return (
    <Controller
      control={form.control}
      name="read"
      render={({ field }) => (
        <div>
          <div className="flex min-h-11 items-center gap-3">
            <Checkbox
              id="read"
              ref={field.ref}
              checked={field.value}
              aria-invalid={error ? true : undefined}
              aria-describedby={error ? 'read-error' : undefined}
              onCheckedChange={(checked) => {
                field.onChange(checked === true)
                form.clearErrors('read')
              }}
            />
            <label htmlFor="read">
              I have read the{' '}
              <Link to={paths.terms} target="_blank" className="text-link">
                Terms
              </Link>{' '}
              and the{' '}
              <Link to={paths.risk} target="_blank" className="text-link">
                Risk
              </Link>{' '}
              page.
            </label>
          </div>
          {error ? <ErrorLine id="read-error">{error}</ErrorLine> : null}
        </div>
      )}
    />
  )
}

const emailKnown = 'An account with this email already exists. Sign in, or reset your password.'

/** A sign-up that cannot go on, placed where the person can mend it. */
interface Trouble {
  field?: 'username' | 'email' | 'password' | 'referral'
  message: string
}

function troubleOf(error: unknown, passwordLength: number): Trouble {
  if (!(error instanceof Refusal) || !error.speaks) {
    return { message: 'No answer arrived. Your answers are kept; try again.' }
  }
  if (error.status === 429) return { message: 'Too many attempts. Wait a few minutes and try again.' }
  if (/^username/i.test(error.message)) return { field: 'username', message: error.message }
  if (/referral code/i.test(error.message)) return { field: 'referral', message: error.message }
  if (hasCode(error, 'weak_password')) {
    return { field: 'password', message: passwordLength < 6 ? tooShort : error.message }
  }
  if (hasCode(error, 'user_already_exists', 'email_exists')) return { field: 'email', message: emailKnown }
  if (hasCode(error, 'email_address_invalid', 'validation_failed')) {
    return { field: 'email', message: 'Invalid email address or email already in use.' }
  }
  return { message: error.message }
}

interface SignUpFormProps {
  /** Asked at submit: the sponsor's id, or null when there is none yet. */
  sponsorId: () => string | null
  onReferral: (message: string) => void
  onCreated: (answers: SignUpAnswers) => void
  /** Given before, when the person comes back to correct them. */
  answers: SignUpAnswers | null
}

export function SignUpFields({ sponsorId, onReferral, onCreated, answers }: SignUpFormProps) {
  const form = useAppForm<SignUpValues>(schema, {
    displayName: answers?.displayName ?? '',
    username: answers?.username ?? '',
    email: answers?.email ?? '',
    password: '',
    read: false,
  })
  const [problem, setProblem] = useState<string | null>(null)
  const [busy, setBusy] = useState(false)

  function show({ field, message }: Trouble): void {
    if (field === 'referral') onReferral(message)
    else if (field) form.setError(field, { message }, { shouldFocus: true })
    else setProblem(message)
    toasts.error(field ? message : 'Failed to create account')
  }

  async function submit(values: SignUpValues): Promise<void> {
    const referrerId = sponsorId()
    if (!referrerId) {
      onReferral('Referral code is required for registration')
      return
    }
    setBusy(true)
    setProblem(null)
    try {
      const { alreadyKnown } = await signUp({ ...values, referrerId })
      if (alreadyKnown) {
        show({ field: 'email', message: emailKnown })
        return
      }
      toasts.success('Account created! Please check your email for verification.')
      onCreated({ displayName: values.displayName, username: values.username, email: values.email })
    } catch (error) {
      console.error(error)
      show(troubleOf(error, values.password.length))
    } finally {
      setBusy(false)
    }
  }

  return (
    <form
      noValidate
      className="flex flex-col gap-5"
      onSubmit={(event) => void form.handleSubmit(submit)(event)}
    >
      <ErrorSummary form={form} />
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
      <Button type="submit" size="wide" busy={busy && 'Creating account...'}>
        Create account
      </Button>
    </form>
  )
}
