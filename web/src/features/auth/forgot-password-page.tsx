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
  const [sentTo, setSentTo] = useState<string | null>(null)
  const [unreachable, setUnreachable] = useState(false)
  const [busy, setBusy] = useState(false)

  async function submit({ email }: EmailValues): Promise<void> {
    setBusy(true)
    setUnreachable(false)
    try {
      await requestPasswordReset(email)
      setSentTo(email)
    } catch (error) {
      console.error(error)
      // Whatever the server thinks of the address, the answer is the same: nobody learns who has an account.
      if (error instanceof Refusal && error.speaks) setSentTo(email)
      else setUnreachable(true)
    } finally {
      setBusy(false)
    }
  }

  return (
    <AuthPage
      title="Forgot your password?"
      purpose={
        <>
          We’ll email you a link to set a new password.{' '}
          <Link to={paths.signIn} className="text-link">
            Back to sign in
          </Link>
        </>
      }
    >
      {sentTo ? (
        <Notice tone="info" role="status">
          <p className="mb-3">If {sentTo} has an account, a link is on its way.</p>
          <ResendButton label="Send again" onSend={() => requestPasswordReset(sentTo)} />
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
          <Button type="submit" size="wide" busy={busy && 'Sending...'}>
            Send link
          </Button>
        </form>
      )}
    </AuthPage>
  )
}
