import { useEffect, useState } from 'react'
import { Link, Navigate, useNavigate, useSearchParams } from 'react-router'
import { Notice } from '@/components/notice'
import { SupportLink } from '@/components/support-link'
import { arrival } from '@/lib/arrival'
import { paths, safeRedirect } from '@/lib/paths'
import { memberSession } from '@/lib/session'
import { useStore } from '@/lib/store'
import { endedReason } from './ended-reason'
import { finishSignIn } from './finish-sign-in'
import { AuthPage } from './layout'
import { pageName } from './page-names'
import { SignInForm } from './sign-in-form'
import { TotpStep } from './totp-step'

/** What a person should know before signing in: why they were signed out, or what a mail link said. */
function Reasons({ target }: { target: string | null }) {
  const { notice, closed, endedBy } = useStore(memberSession)
  const name = target ? pageName(target) : null
  if (notice) {
    return (
      <Notice tone={closed ? 'info' : 'negative'} role="alert" action={closed ? undefined : <SupportLink />}>
        {notice}
      </Notice>
    )
  }
  if (endedBy) {
    return (
      <Notice tone="info" role="status" title="Your session ended. Sign in to continue.">
        <p>{endedReason(endedBy)}</p>
      </Notice>
    )
  }
  if (arrival.message) return <Notice tone="info">{arrival.message}</Notice>
  return name ? <p className="text-muted-foreground">Sign in to open {name}.</p> : null
}

export function SignInPage() {
  const [params] = useSearchParams()
  const navigate = useNavigate()
  const { status } = useStore(memberSession)
  // While a sign-in is being finished the account may still turn out to be blocked.
  const [finishing, setFinishing] = useState(false)
  const wanted = params.get('redirect')
  const target = safeRedirect(wanted, location.origin)
  useEffect(() => {
    void memberSession.start()
  }, [])

  async function finish(): Promise<void> {
    if (memberSession.get().status === 'code') return
    setFinishing(true)
    if (await finishSignIn()) await navigate(target, { replace: true })
    setFinishing(false)
  }

  if (status === 'code') return <TotpStep onVerified={finish} />
  if (status === 'member' && !finishing) return <Navigate to={target} replace />
  return (
    <AuthPage
      title="Sign in"
      purpose={
        <>
          New here?{' '}
          <Link to={paths.signUp} className="text-link">
            Sign up
          </Link>
        </>
      }
    >
      <Reasons target={wanted} />
      <SignInForm onSignedIn={finish} />
    </AuthPage>
  )
}
