import { Outlet, ScrollRestoration, useLocation, useNavigation } from 'react-router'
import { Ticker } from '@/features/landing/ticker'
import { DemoBanner } from '@/features/operator/demo-banner'
import { memberSession } from '@/lib/session'
import { paths } from '@/lib/paths'
import { useStore } from '@/lib/store'
import { MemberHeader } from './member-header'
import { NoticeStrip } from './notice-strip'
import { SiteFooter } from './site-footer'
import { SkipLink } from './skip-link'
import { VisitorHeader } from './visitor-header'

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
      {member ? <MemberHeader /> : <VisitorHeader />}
      {member ? <NoticeStrip /> : null}
      <Progress />
      <main id="content" tabIndex={-1} className="grow">
        <Outlet />
      </main>
      <SiteFooter />
      <ScrollRestoration />
    </div>
  )
}
