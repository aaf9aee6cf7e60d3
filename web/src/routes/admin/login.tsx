import { Navigate, useLocation, useNavigate } from 'react-router'
import { Notice } from '@/components/notice'
import { usePageTitle } from '@/components/page-head'
import { Wordmark } from '@/components/wordmark'
import { LoginForm } from '@/features/administrators/login-form'
import { DemoBanner } from '@/features/operator/demo-banner'
import { administratorSession } from '@/lib/administrator-session'
import { safeAdminRedirect } from '@/lib/paths'
import { useStore } from '@/lib/store'

export default function AdminLoginPage() {
  useStore(administratorSession)
  const navigate = useNavigate()
  const from: unknown = useLocation().state
  // Only when it is needed: this page is also drawn where there is no window.
  const target = () => safeAdminRedirect(typeof from === 'string' ? from : null, window.location.origin)
  const heading = usePageTitle('Administrator sign-in')
  if (administratorSession.current()) return <Navigate to={target()} replace />
  return (
    <div className="flex min-h-dvh flex-col">
      <DemoBanner />
      <main
        id="content"
        className="page-gutter mx-auto flex w-full max-w-[448px] grow flex-col justify-center py-10"
      >
        <Wordmark className="mb-8" />
        <h1 ref={heading} tabIndex={-1} className="text-title-phone md:text-title">
          Administrator sign-in
        </h1>
        <p className="mt-1 mb-6 text-muted-foreground">For the people who run this installation.</p>
        {administratorSession.endedIdle() ? (
          <Notice tone="info" className="mb-5">
            Signed out after 30 minutes without activity.
          </Notice>
        ) : null}
        <LoginForm onSignedIn={() => void navigate(target(), { replace: true })} />
      </main>
    </div>
  )
}
