import { lazy, Suspense, useEffect } from 'react'
import {
  Outlet,
  ScrollRestoration,
  useLocation,
  useNavigate,
  useNavigation,
  useSearchParams,
} from 'react-router'
import { Ticker } from '@/features/landing/ticker'
import { DemoBanner } from '@/features/operator/demo-banner'
import { arrival } from '@/lib/arrival'
import { memberSession } from '@/lib/session'
import { isMemberPage, paths } from '@/lib/paths'
import { referral } from '@/lib/referral'
import { useStore } from '@/lib/store'
import { SiteFooter } from './site-footer'
import { SkipLink } from './skip-link'
import { VisitorHeader } from './visitor-header'
import { WaitingHeader } from './waiting-header'

// A visitor's pages do not carry what only members see.
const MemberHeader = lazy(() => import('./member-header'))
const NoticeStrip = lazy(() => import('./notice-strip'))

const alwaysVisitor: string[] = [paths.home, paths.signIn, paths.signUp]

/** Says, to eyes and to screen readers, that a page's code is on its way. */
function Progress() {
  const { state } = useNavigation()
  return (
    <div role="status" className="sr-only">
      {state === 'loading' ? 'Loading page' : ''}
    </div>
  )
}

/** A mail link that was refused arrives with an error in the fragment, on whatever page it was meant for. */
function useRefusedLink(): void {
  const navigate = useNavigate()
  const { pathname } = useLocation()
  useEffect(() => {
    if (!arrival.error) return
    const kind = pathname === paths.resetPassword ? '?kind=recovery' : ''
    void navigate(paths.linkExpired + kind, { replace: true })
    // Only what the page was opened with counts.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [])
}

/** Keeps the referral code of whatever public page the visitor was sent to. The sign-up looks after its own. */
function useReferralLink(): void {
  const [params] = useSearchParams()
  const { pathname } = useLocation()
  const code = pathname === paths.signUp ? null : params.get('ref')?.trim()
  useEffect(() => {
    if (code) referral.meet(code)
  }, [code])
}

/** Everything but the administrators' side: skip link, demo banner, header, notice strip, main, footer. */
export function SiteShell() {
  const { pathname } = useLocation()
  const { status, userId } = useStore(memberSession)
  useRefusedLink()
  useReferralLink()
  const member = (status === 'member' || status === 'ended') && !alwaysVisitor.includes(pathname)
  return (
    <div className="flex min-h-dvh flex-col">
      <SkipLink />
      <DemoBanner className={pathname === paths.home ? 'max-w-[1248px]' : 'max-w-[1168px]'} />
      {pathname === paths.home ? <Ticker /> : null}
      {member ? (
        <Suspense fallback={<WaitingHeader />}>
          <MemberHeader key={userId} />
          <NoticeStrip />
        </Suspense>
      ) : status === 'loading' && isMemberPage(pathname) ? (
        <WaitingHeader />
      ) : (
        <VisitorHeader />
      )}
      <Progress />
      <main id="content" tabIndex={-1} className="grow">
        <Outlet />
      </main>
      <SiteFooter />
      <ScrollRestoration />
    </div>
  )
}
