import { useState } from 'react'
import { Link } from 'react-router'
import { ErrorLine } from '@/components/field'
import { TextField, useAppForm } from '@/components/form'
import { Notice } from '@/components/notice'
import { ResendButton } from '@/components/resend-button'
import { Button } from '@/components/ui/button'
import { Refusal, unreachableText } from '@/lib/errors'
import { paths } from '@/lib/paths'
import { requestPasswordReset } from './api'
import type { EmailValues } from './email-schema'
import { AuthPage } from './layout'

const schema = () => import('./email-schema').then((file) => file.emailSchema)

export function ForgotPasswordPage() {
  const form = useAppForm<EmailValues>(schema, { email: '' })
  const [sent, setSent] = useState<{ to: string; at: number } | null>(null)
  const [unreachable, setUnreachable] = useState(false)

  async function submit({ email }: EmailValues): Promise<void> {
    setUnreachable(false)
    try {
      await requestPasswordReset(email)
      setSent({ to: email, at: Date.now() })
    } catch (error) {
      console.error(error)
      // Whatever the server thinks of the address, the answer is the same: nobody learns who has an account.
      if (error instanceof Refusal && error.speaks) setSent({ to: email, at: Date.now() })
      else setUnreachable(true)
    }
  }

  return (
    <AuthPage
      title="Forgot your password?"
      purpose={
        <>
          {sent ? null : 'We’ll email you a link to set a new password. '}
          <Link to={paths.signIn} className="text-link whitespace-nowrap">
            Back to sign in
          </Link>
        </>
      }
    >
      {sent ? (
        <Notice tone="info" role="status">
          <p className="mb-3">If {sent.to} has an account, a link is on its way.</p>
          <ResendButton label="Send again" sentAt={sent.at} onSend={() => requestPasswordReset(sent.to)} />
        </Notice>
      ) : (
        <form
          noValidate
          className="flex flex-col gap-5"
          onSubmit={(event) => void form.handleSubmit(submit)(event)}
        >
          <TextField
            form={form}
            name="email"
            label="Email"
            type="email"
            inputMode="email"
            autoComplete="email"
          />
          <div role="alert" className="empty:hidden">
            {unreachable ? <ErrorLine>{unreachableText}</ErrorLine> : null}
          </div>
          <Button type="submit" size="wide" busy={form.formState.isSubmitting && 'Sending...'}>
            Send link
          </Button>
        </form>
      )}
    </AuthPage>
  )
}
