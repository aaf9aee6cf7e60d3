import { useEffect } from 'react'
import { Link } from 'react-router'
import { Notice } from '@/components/notice'
import { Button } from '@/components/ui/button'
import { arrival } from '@/lib/arrival'
import { paths } from '@/lib/paths'
import { memberSession } from '@/lib/session'
import { useStore } from '@/lib/store'
import { AuthPage } from './layout'

function FirstOfTwo() {
  return (
    <AuthPage title="One more link to open">
      <Notice tone="info" role="status">
        This link was opened. Your email changes once the link sent to the other address is opened too. Until
        then nothing changes.
      </Notice>
      <Button asChild size="wide" variant="outline">
        <Link to={paths.profile}>See it on your profile</Link>
      </Button>
    </AuthPage>
  )
}

/** Opened by hand, or once more: no link was followed, and what is so is known only of who is signed in. */
function NoLink({ email }: { email: string | null }) {
  return (
    <AuthPage title={email ? 'Your email' : 'Confirm your email'}>
      <Notice tone="info" role="status">
        {email ? `You are signed in as ${email}.` : 'To confirm your email, open the link that we sent you.'}
      </Notice>
      <Button asChild size="wide" variant="outline">
        <Link to={email ? paths.dashboard : paths.signIn}>{email ? 'Open the dashboard' : 'Sign in'}</Link>
      </Button>
    </AuthPage>
  )
}

export function EmailConfirmedPage() {
  const { status, email } = useStore(memberSession)
  useEffect(() => {
    void memberSession.start()
  }, [])
  const signedIn = status === 'member'
  // The auth service has a message only for the first of the two links of a change of address.
  if (arrival.message) return <FirstOfTwo />
  if (!arrival.refreshToken) return status === 'loading' ? null : <NoLink email={signedIn ? email : null} />
  return (
    <AuthPage title="Email confirmed">
      <Notice tone="positive" role="status">
        {signedIn ? 'Email confirmed.' : 'Email confirmed. Sign in to continue.'}
      </Notice>
      <Button asChild size="wide">
        <Link to={signedIn ? paths.dashboard : paths.signIn}>
          {signedIn ? 'Open the dashboard' : 'Sign in'}
        </Link>
      </Button>
    </AuthPage>
  )
}
