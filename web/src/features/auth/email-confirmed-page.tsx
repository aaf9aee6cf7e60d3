import { useEffect } from 'react'
import { Link } from 'react-router'
import { Notice } from '@/components/notice'
import { Button } from '@/components/ui/button'
import { paths } from '@/lib/paths'
import { memberSession } from '@/lib/session'
import { useStore } from '@/lib/store'
import { AuthPage } from './layout'

export function EmailConfirmedPage() {
  const { status } = useStore(memberSession)
  useEffect(() => {
    void memberSession.start()
  }, [])
  const signedIn = status === 'member'
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
