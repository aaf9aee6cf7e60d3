import { lazy, Suspense } from 'react'
import { Outlet, ScrollRestoration, useLocation, useNavigation } from 'react-router'
import { Ticker } from '@/features/landing/ticker'
import { DemoBanner } from '@/features/operator/demo-banner'
import { memberSession } from '@/lib/session'
import { paths } from '@/lib/paths'
import { useStore } from '@/lib/store'
import { SiteFooter } from './site-footer'
import { SkipLink } from './skip-link'
import { VisitorHeader } from './visitor-header'

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

/** Everything but the administrators' side: skip link, demo banner, header, notice strip, main, footer. */
export function SiteShell() {
  const { pathname } = useLocation()
  const { status } = useStore(memberSession)
  const member = (status === 'member' || status === 'ended') && !alwaysVisitor.includes(pathname)
  return (
    <div className="flex min-h-dvh flex-col">
      <SkipLink />
      <DemoBanner />
      {pathname === paths.home ? <Ticker /> : null}
      {member ? (
        <Suspense fallback={<div className="h-14 border-b bg-card md:h-16" />}>
          <MemberHeader />
          <NoticeStrip />
        </Suspense>
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
