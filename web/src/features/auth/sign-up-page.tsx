import { useQueryClient } from '@tanstack/react-query'
import { MailCheck } from 'lucide-react'
import { useState } from 'react'
import { Link, useSearchParams } from 'react-router'
import { Notice } from '@/components/notice'
import { ResendButton } from '@/components/resend-button'
import { Button } from '@/components/ui/button'
import { paths } from '@/lib/paths'
import { referral } from '@/lib/referral'
import { resendConfirmation, sponsorQuery } from './api'
import { AuthPage } from './layout'
import { SignUpFields, type SignUpAnswers } from './sign-up-form'
import { SponsorChoice, SponsorConflict } from './sponsor'

function CheckYourEmail({ email, onChange }: { email: string; onChange: () => void }) {
  return (
    <AuthPage title="Check your email">
      <div className="card-box flex flex-col gap-3">
        <MailCheck className="size-6 stroke-[1.75] text-primary" aria-hidden />
        <p>
          We sent a link to <strong className="font-semibold break-all">{email}</strong>. Open it to confirm
          your address; you are then signed in.
        </p>
        <p className="text-muted-foreground">
          Nothing there? Look in the spam folder, or have it sent again.
        </p>
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
  const client = useQueryClient()
  const [known, setKnown] = useState(() => {
    const code = params.get('ref')?.trim()
    return code ? referral.meet(code) : referral.read()
  })
  const [refused, setRefused] = useState<string | null>(null)
  const [created, setCreated] = useState<SignUpAnswers | null>(null)
  const [changing, setChanging] = useState(false)

  function choose(code: string): void {
    setRefused(null)
    setKnown(referral.choose(code))
  }

  function sponsorId(): string | null {
    if (!known.kept || known.offered) return null
    return client.getQueryData(sponsorQuery(known.kept).queryKey)?.id ?? null
  }

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
      {known.kept && known.offered ? (
        <SponsorConflict kept={known.kept} offered={known.offered} onChoose={choose} />
      ) : (
        <SponsorChoice code={known.kept} error={refused} onCode={choose} />
      )}
      {created ? (
        <Notice tone="info" role="status" title="Correct the email address">
          The username {created.username} is kept for {created.email} for 24 hours. With another address,
          choose another username, or wait until then.
        </Notice>
      ) : null}
      <SignUpFields
        answers={created}
        sponsorId={sponsorId}
        onReferral={(message) => {
          setRefused(message)
          scrollTo({ top: 0 })
        }}
        onCreated={(answers) => {
          setCreated(answers)
          setChanging(false)
        }}
      />
    </AuthPage>
  )
}
