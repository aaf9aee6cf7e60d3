import { LandingPage } from '@/features/landing/landing-page'
import { Ticker } from '@/features/landing/ticker'
import { DemoBanner } from '@/features/operator/demo-banner'
import { FaultBoundary } from './fault-boundary'
import { LandingFooter } from './landing-footer'
import { PlainLink } from './plain-link'
import { SkipLink } from './skip-link'
import { VisitorHeader } from './visitor-header'

/** The landing page and what stands around it. It has no router: the browser follows the links from it and to it. */
export function Landing() {
  return (
    <FaultBoundary>
      <div className="flex min-h-dvh flex-col">
        <SkipLink />
        <DemoBanner className="max-w-[1248px]" />
        <Ticker />
        <VisitorHeader link={PlainLink} landing />
        <main id="content" tabIndex={-1} className="grow">
          <LandingPage />
        </main>
        <LandingFooter />
      </div>
    </FaultBoundary>
  )
}

/** What `openRouter` gives for every other page; nothing on this one leads to where it is already. */
export function openLanding() {
  return { pages: <Landing />, onOpen: () => undefined }
}
