import { useMutation } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { z } from '@/lib/zod'
import { ErrorLine } from '@/components/field'
import { ErrorSummary, KnownUsername, PasswordField, TextField, useAppForm } from '@/components/form'
import { Button } from '@/components/ui/button'
import { Dialog, DialogContent } from '@/components/ui/dialog'
import { administratorProof } from '@/lib/administrator-proof'
import type { Administrator } from '@/lib/administrator-session'
import { errorText, hasCode, unreachableText } from '@/lib/errors'
import { useStore } from '@/lib/store'
import { signIn } from './api'

const schema = z.object({
  password: z.string().min(1, 'Enter your password.'),
  code: z.string().trim(),
})

interface ProofFormProps {
  admin: Pick<Administrator, 'email' | 'two_step'>
  onAnswer: (proved: boolean) => void
}

/** What was typed stays after a refusal, except the code, which works once. */
function ProofForm({ admin, onAnswer }: ProofFormProps) {
  const form = useAppForm(schema, { password: '', code: '' })
  const [codeAsked, setCodeAsked] = useState(admin.two_step)
  const attempt = useMutation({
    mutationFn: signIn,
    onSuccess: () => onAnswer(true),
    onError: (error) => {
      if (hasCode(error, 'totp_required')) setCodeAsked(true)
      form.setValue('code', '')
    },
    meta: { realm: 'administrator' },
  })
  const submit = form.handleSubmit(({ password, code }) => {
    if (codeAsked && !code) form.setError('code', { message: 'Enter the six-digit code.' })
    else attempt.mutate({ email: admin.email, password, ...(code ? { totp: code } : {}) })
  })
  const wrong = hasCode(attempt.error, 'invalid_credentials')
  return (
    <form noValidate className="flex flex-col gap-5" onSubmit={(event) => void submit(event)}>
      <ErrorSummary form={form} />
      <KnownUsername value={admin.email} />
      <PasswordField form={form} name="password" label="Password" autoComplete="current-password" />
      {codeAsked ? (
        <TextField
          form={form}
          name="code"
          label="Six-digit code"
          hint="From your authenticator app. Each code works once."
          inputMode="numeric"
          autoComplete="one-time-code"
          maxLength={6}
        />
      ) : null}
      <div role="alert" className="empty:hidden">
        {attempt.isError ? (
          <ErrorLine>
            {wrong ? 'That password is not right.' : errorText(attempt.error, unreachableText)}
          </ErrorLine>
        ) : null}
      </div>
      <div className="flex flex-wrap justify-end gap-3">
        <Button variant="outline" onClick={() => onAnswer(false)}>
          Cancel
        </Button>
        <Button type="submit" busy={attempt.isPending && 'Checking...'}>
          Continue
        </Button>
      </div>
    </form>
  )
}

/** The password is what is asked for; the button that closes comes before it. */
function focusPassword(event: Event) {
  event.preventDefault()
  const dialog = event.currentTarget as HTMLElement | null
  dialog?.querySelector<HTMLElement>('input[type=password]')?.focus()
}

/**
 * Asks who acts to sign in again, over a page that stays as it is. The new session takes the place of the one that the
 * page had, and what was asked for goes on.
 */
export function ProofDialog({ admin }: { admin: ProofFormProps['admin'] }) {
  const question = useStore(administratorProof)
  // Nobody is asked any more where the page is left or the session ends.
  useEffect(() => () => administratorProof.get()?.answer(false), [])
  if (!question) return null
  return (
    <Dialog open onOpenChange={(open) => !open && question.answer(false)}>
      <DialogContent
        title="Confirm it’s you"
        description="You signed in more than ten minutes ago. Enter your password to go on; what you typed is kept."
        onOpenAutoFocus={focusPassword}
        onInteractOutside={(event) => event.preventDefault()}
      >
        <ProofForm admin={admin} onAnswer={question.answer} />
      </DialogContent>
    </Dialog>
  )
}
