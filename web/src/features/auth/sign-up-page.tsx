import { MailCheck } from 'lucide-react'
import { useState } from 'react'
import { Link, useSearchParams } from 'react-router'
import { Notice } from '@/components/notice'
import { ResendButton } from '@/components/resend-button'
import { Button } from '@/components/ui/button'
import { paths } from '@/lib/paths'
import { resendConfirmation } from './api'
import { AuthPage } from './layout'
import { SignUpForm, type SignUpAnswers } from './sign-up-form'

function CheckYourEmail({ email, onChange }: { email: string; onChange: () => void }) {
  return (
    <AuthPage title="Check your email">
      <div className="card-box flex flex-col gap-3">
        <MailCheck className="size-6 stroke-[1.75] text-primary" aria-hidden />
        <p>
          We sent a link to <strong className="font-semibold break-all">{email}</strong>. Open it to confirm
          your address and sign in.
        </p>
        <p className="text-muted-foreground">Nothing there? Check your spam folder or resend the email.</p>
        <ResendButton label="Resend" onSend={() => resendConfirmation(email)} />
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
  const [created, setCreated] = useState<SignUpAnswers | null>(null)
  const [changing, setChanging] = useState(false)

  if (created && !changing) return <CheckYourEmail email={created.email} onChange={() => setChanging(true)} />
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
          setCreated(answers)
          setChanging(false)
        }}
      />
    </AuthPage>
  )
}
