import { lazy, Suspense } from 'react'
import { NavLink, Outlet, ScrollRestoration, useLocation, useNavigation } from 'react-router'
import { DemoBanner } from '@/features/operator/demo-banner'
import { memberSession } from '@/lib/session'
import { isMemberPage, paths } from '@/lib/paths'
import { useStore } from '@/lib/store'
import { scrollKey } from './scroll-key'
import { SiteFooter } from './site-footer'
import { SkipLink } from './skip-link'
import { VisitorHeader } from './visitor-header'
import { WaitingHeader } from './waiting-header'

// A visitor's pages do not carry what only members see.
const MemberHeader = lazy(() => import('./member-header'))
const NoticeStrip = lazy(() => import('./notice-strip'))

const alwaysVisitor: string[] = [paths.signIn, paths.signUp]

/** Says, to eyes and to screen readers, that a page's code is on its way. */
function Progress() {
  const { state } = useNavigation()
  return (
    <div role="status" className="sr-only">
      {state === 'loading' ? 'Loading page' : ''}
    </div>
  )
}

/** All but the landing page and the administrators' side: skip link, demo banner, header, notice strip, main, footer. */
export function SiteShell() {
  const { pathname } = useLocation()
  const { status, userId } = useStore(memberSession)
  const member = (status === 'member' || status === 'ended') && !alwaysVisitor.includes(pathname)
  return (
    <div className="flex min-h-dvh flex-col">
      <SkipLink />
      <DemoBanner className="max-w-[1168px]" />
      {member ? (
        <Suspense fallback={<WaitingHeader />}>
          <MemberHeader key={userId} />
          <NoticeStrip />
        </Suspense>
      ) : status === 'loading' && isMemberPage(pathname) ? (
        <WaitingHeader />
      ) : (
        <VisitorHeader link={NavLink} />
      )}
      <Progress />
      <main id="content" tabIndex={-1} className="grow">
        <Outlet />
      </main>
      <SiteFooter />
      <ScrollRestoration getKey={scrollKey} />
    </div>
  )
}
