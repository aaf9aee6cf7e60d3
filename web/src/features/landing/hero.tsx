import { ArrowRight } from 'lucide-react'
import { RiskLine } from '@/components/risk-line'
import { Button } from '@/components/ui/button'
import { useProductName } from '@/lib/platform'
import { paths } from '@/lib/paths'
import { useDocumentTitle } from '@/lib/use-document-title'
import { HarbourLine } from './harbour-line'

/** The first screen: what this is, two ways on, and what can be lost. It stands on the harbour line. */
export function Hero() {
  useDocumentTitle(useProductName())
  return (
    <section className="relative overflow-hidden">
      <div className="page-gutter relative z-10 mx-auto max-w-[1248px] pt-10 lg:pt-14 xl:pb-40">
        <div className="lg:max-w-[720px]">
          <h1 tabIndex={-1} className="text-display-phone tracking-[-0.02em] lg:text-display">
            Trading tools, automation and a referral plan you can check.
          </h1>
          <p className="mt-4 max-w-[37rem] text-lead text-muted-foreground">
            Free trading bots, lessons and one of five packages. Every bonus is a share of another member’s
            package, and the whole split is published.
          </p>
          <div className="mt-7 flex flex-col gap-3 sm:flex-row">
            <Button asChild size="wide">
              <a href={paths.dashboard}>
                Explore Our Ecosystem
                <ArrowRight aria-hidden />
              </a>
            </Button>
            <Button asChild variant="outline" size="wide">
              <a href={paths.education} aria-label="Start Your Journey in the Trading School">
                Start Your Journey
              </a>
            </Button>
          </div>
          <RiskLine className="mt-7 text-muted-foreground lg:max-w-[32rem]" />
        </div>
      </div>
      <HarbourLine />
    </section>
  )
}
