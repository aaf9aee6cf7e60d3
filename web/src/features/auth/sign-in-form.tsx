import { useEffect, useState } from 'react'
import { Link } from 'react-router'
import { ErrorLine } from '@/components/field'
import { ErrorSummary, PasswordField, TextField, useAppForm } from '@/components/form'
import { Notice } from '@/components/notice'
import { ResendButton } from '@/components/resend-button'
import { Button } from '@/components/ui/button'
import { hasCode, Refusal, unreachableText } from '@/lib/errors'
import { paths } from '@/lib/paths'
import { memberSession } from '@/lib/session'
import { toasts } from '@/lib/toast-queue'
import { resendConfirmation, signIn } from './api'
import type { SignInValues } from './sign-in-schema'

const schema = () => import('./sign-in-schema').then((file) => file.signInSchema)

type Problem = 'wrong' | 'unconfirmed' | 'often' | 'unreachable'

function problemOf(error: unknown): Problem {
  if (hasCode(error, 'email_not_confirmed')) return 'unconfirmed'
  if (error instanceof Refusal && error.status === 429) return 'often'
  return error instanceof Refusal && error.speaks ? 'wrong' : 'unreachable'
}

const sentences: Record<Exclude<Problem, 'unconfirmed'>, string> = {
  wrong: 'Check your email and password.',
  often: 'Too many attempts. Wait a few minutes and try again.',
  unreachable: unreachableText,
}

interface SignInFormProps {
  /** Whose sign-in it most likely is. */
  email?: string | null
  /** It is theirs for sure: the account was created here just now. */
  isNew?: boolean
  onSignedIn: () => Promise<void>
}

/** E-mail and password, on the sign-in page and over a page whose session ended. */
export function SignInForm({ email, isNew = false, onSignedIn }: SignInFormProps) {
  const form = useAppForm<SignInValues>(schema, { email: email ?? '', password: '' })
  const [problem, setProblem] = useState<Problem | null>(null)
  const [unconfirmed, setUnconfirmed] = useState('')
  useEffect(() => {
    if (isNew) form.setFocus('password')
  }, [form, isNew])

  async function submit(values: SignInValues): Promise<void> {
    setProblem(null)
    memberSession.clearNotice()
    try {
      await signIn(values.email, values.password)
      await onSignedIn()
    } catch (error) {
      console.error(error)
      const found = problemOf(error)
      setProblem(found)
      if (found === 'unconfirmed') setUnconfirmed(values.email)
      else toasts.error('Failed to sign in')
    }
  }

  return (
    <form
      noValidate
      className="flex flex-col gap-5"
      onSubmit={(event) => void form.handleSubmit(submit)(event)}
    >
      <ErrorSummary form={form} />
      <TextField
        form={form}
        name="email"
        label="Email"
        type="email"
        autoComplete="email"
        inputMode="email"
        readOnly={isNew}
      />
      <PasswordField
        form={form}
        name="password"
        label="Password"
        hint={isNew ? 'The one you chose a moment ago.' : undefined}
        autoComplete="current-password"
      />
      <div role="alert" className="empty:hidden">
        {problem && problem !== 'unconfirmed' ? <ErrorLine>{sentences[problem]}</ErrorLine> : null}
        {problem === 'unconfirmed' ? (
          <Notice tone="warning" title="Confirm your email first.">
            <p className="mb-3">We sent a link to {unconfirmed}.</p>
            <ResendButton label="Resend" onSend={() => resendConfirmation(unconfirmed)} />
          </Notice>
        ) : null}
      </div>
      <Link
        to={paths.forgotPassword}
        className="text-link inline-flex min-h-6 items-center self-start pointer-coarse:min-h-11"
      >
        Forgot password?
      </Link>
      <Button type="submit" size="wide" busy={form.formState.isSubmitting && 'Signing in...'}>
        Sign in
      </Button>
    </form>
  )
}
