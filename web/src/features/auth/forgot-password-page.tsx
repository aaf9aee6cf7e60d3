import { Pencil } from 'lucide-react'
import { useEffect, useState } from 'react'
import { Link } from 'react-router'
import { ErrorLine } from '@/components/field'
import { TextField, useAppForm } from '@/components/form'
import { Button } from '@/components/ui/button'
import { askedReset } from '@/lib/asked-reset'
import { Refusal, unreachableText } from '@/lib/errors'
import { paths } from '@/lib/paths'
import { memberSession } from '@/lib/session'
import { useStore } from '@/lib/store'
import { requestPasswordReset } from './api'
import {
  CodeEntry,
  OpeningDashboard,
  ResendRow,
  useLookForSession,
  WaitingRow,
  WaitingRows,
} from './check-email'
import type { EmailValues } from './email-schema'
import { AuthPage } from './layout'

const schema = () => import('./email-schema').then((file) => file.emailSchema)

function BackToSignIn() {
  return (
    <Link to={paths.signIn} className="text-link whitespace-nowrap">
      Back to sign in
    </Link>
  )
}

interface CheckYourEmailProps {
  email: string
  sentAt: number
  takesFocus: boolean
  onChange: () => void
}

function CheckYourEmail({ email, sentAt, takesFocus, onChange }: CheckYourEmailProps) {
  const { status, userId } = useStore(memberSession)
  const [before] = useState(() => memberSession.get().userId)
  useLookForSession()
  // Not while the code of this page opens it, which leads to the new password.
  const isOpened = status === 'member' && before === null && userId !== null
  const { linkType } = useStore(memberSession)
  useEffect(() => () => (memberSession.get().status === 'member' ? askedReset.clear() : undefined), [])
  if (isOpened && linkType !== 'recovery') return <OpeningDashboard title="You are signed in." />
  return (
    <AuthPage
      title="Check your email"
      takesFocus={takesFocus}
      purpose={
        <>
          If {email} has an account, a link is on its way. <BackToSignIn />
        </>
      }
    >
      <CodeEntry type="recovery" email={email} address={paths.resetPassword} />
      <WaitingRows>
        <ResendRow sentAt={sentAt} onSend={() => requestPasswordReset(email)} />
        <WaitingRow
          icon={Pencil}
          title="Wrong address?"
          action={
            <Button variant="outline" onClick={onChange}>
              Change address
            </Button>
          }
        />
      </WaitingRows>
    </AuthPage>
  )
}

export function ForgotPasswordPage() {
  const asked = useStore(askedReset)
  const [before, setBefore] = useState('')
  const [sent, setSent] = useState(false)
  if (asked)
    return (
      <CheckYourEmail
        key={asked.at}
        email={asked.email}
        sentAt={asked.at}
        takesFocus={sent}
        onChange={() => {
          setBefore(asked.email)
          askedReset.clear()
        }}
      />
    )
  return <AskForm before={before} onSent={() => setSent(true)} />
}

interface AskFormProps {
  /** The address that was wrong. */
  before: string
  onSent: () => void
}

function AskForm({ before, onSent }: AskFormProps) {
  const form = useAppForm<EmailValues>(schema, { email: before })
  const [unreachable, setUnreachable] = useState(false)
  useEffect(() => {
    if (before) form.setFocus('email', { shouldSelect: true })
  }, [form, before])

  async function submit({ email }: EmailValues): Promise<void> {
    setUnreachable(false)
    try {
      await requestPasswordReset(email)
    } catch (error) {
      console.error(error)
      // Whatever the server thinks of the address, the answer is the same: nobody learns who has an account.
      if (!(error instanceof Refusal && error.speaks)) {
        setUnreachable(true)
        return
      }
    }
    onSent()
    askedReset.set({ email, at: Date.now() })
  }

  return (
    <AuthPage
      title="Forgot your password?"
      purpose={
        <>
          We’ll email you a link to set a new password. <BackToSignIn />
        </>
      }
    >
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
    </AuthPage>
  )
}
