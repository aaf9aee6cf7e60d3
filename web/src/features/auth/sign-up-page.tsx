import { MailCheck } from 'lucide-react'
import { useState } from 'react'
import { Link, useSearchParams } from 'react-router'
import { Notice } from '@/components/notice'
import { ResendButton } from '@/components/resend-button'
import { Button } from '@/components/ui/button'
import { createdAccount, type CreatedAccount } from '@/lib/created-account'
import { paths } from '@/lib/paths'
import { useStore } from '@/lib/store'
import { resendConfirmation } from './api'
import { AuthPage } from './layout'
import { SignUpForm } from './sign-up-form'

interface CheckYourEmailProps {
  account: CreatedAccount
  /** In the place of the form, which had the focus. */
  afterForm: boolean
  onChange: () => void
}

function CheckYourEmail({ account, afterForm, onChange }: CheckYourEmailProps) {
  const { email, createdAt } = account
  return (
    <AuthPage title="Check your email" takesFocus={afterForm}>
      <div className="card-box flex flex-col gap-3">
        <MailCheck className="size-6 stroke-[1.75] text-primary" aria-hidden />
        <p>
          We sent a link to <strong className="font-semibold break-all">{email}</strong>. Open it to confirm
          your address and sign in.
        </p>
        <p className="text-muted-foreground">Nothing there? Check your spam folder or resend the email.</p>
        <ResendButton label="Resend" sentAt={createdAt} onSend={() => resendConfirmation(email)} />
      </div>
      <Button variant="link" size="text" className="self-start" onClick={onChange}>
        Change the email address
      </Button>
    </AuthPage>
  )
}

export function SignUpPage() {
  const [params] = useSearchParams()
  const link = params.get('ref')?.trim() ?? ''
  const created = useStore<CreatedAccount | null>(createdAccount)
  const [changing, setChanging] = useState(false)
  const [sent, setSent] = useState(false)

  if (created && !changing) {
    return <CheckYourEmail account={created} afterForm={sent} onChange={() => setChanging(true)} />
  }
  return (
    <AuthPage
      title="Create your account"
      purpose={
        <>
          Already a member?{' '}
          <Link to={paths.signIn} className="text-link">
            Sign in
          </Link>
        </>
      }
    >
      {created ? (
        <Notice tone="info" role="status" title="Correct the email address">
          {created.username} is reserved for {created.email} for 24 hours. To use a different email now,
          choose a different username.
        </Notice>
      ) : null}
      <SignUpForm
        link={link === '' ? null : link}
        answers={created}
        onCreated={(answers) => {
          createdAccount.set({ ...answers, createdAt: Date.now() })
          setSent(true)
          setChanging(false)
        }}
      />
    </AuthPage>
  )
}
