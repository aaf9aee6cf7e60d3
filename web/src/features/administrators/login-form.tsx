import { useMutation } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { z } from '@/lib/zod'
import { ErrorSummary, PasswordField, TextField, useAppForm } from '@/components/form'
import { Notice } from '@/components/notice'
import { Button } from '@/components/ui/button'
import { errorText, hasCode, Refusal } from '@/lib/errors'
import { signIn } from './api'

const schema = z.object({
  email: z.string().trim().min(1, 'Enter your email.'),
  password: z.string().min(1, 'Enter your password.'),
  totp: z.string().trim(),
})

/** Tells a refused sign-in from everything that should not happen (specification S25.5). */
function failureText(error: unknown): string {
  const answered = error instanceof Refusal && error.status > 0 && error.status < 500
  return answered ? errorText(error, 'Authentication failed') : 'An unexpected error occurred'
}

/** Email and password, then the six-digit code of accounts that have one. What was typed stays. */
export function LoginForm({ onSignedIn }: { onSignedIn: () => void }) {
  const [codeAsked, setCodeAsked] = useState(false)
  const form = useAppForm(schema, { email: '', password: '', totp: '' })
  const attempt = useMutation({
    mutationFn: signIn,
    onSuccess: onSignedIn,
    onError: (error) => {
      if (hasCode(error, 'totp_required')) setCodeAsked(true)
    },
    meta: { realm: 'administrator' },
  })
  // The code is what the form now waits for.
  useEffect(() => {
    if (codeAsked) form.setFocus('totp')
  }, [codeAsked, form])
  const submit = form.handleSubmit(({ email, password, totp }) =>
    attempt.mutate({ email, password, ...(totp ? { totp } : {}) }),
  )
  const asking = hasCode(attempt.error, 'totp_required')
  return (
    <form noValidate onSubmit={(event) => void submit(event)} className="flex flex-col gap-5">
      <ErrorSummary form={form} />
      {attempt.isError && !asking ? (
        <Notice tone="negative" role="alert">
          {failureText(attempt.error)}
        </Notice>
      ) : null}
      <TextField
        form={form}
        name="email"
        label="Email"
        type="email"
        autoComplete="username"
        spellCheck={false}
      />
      <PasswordField form={form} name="password" label="Password" autoComplete="current-password" />
      {codeAsked ? (
        <TextField
          form={form}
          name="totp"
          label="Six-digit code"
          hint="From the authenticator app of this account."
          inputMode="numeric"
          autoComplete="one-time-code"
          maxLength={6}
        />
      ) : null}
      <Button type="submit" busy={attempt.isPending && 'Signing in...'}>
        Sign in
      </Button>
    </form>
  )
}
