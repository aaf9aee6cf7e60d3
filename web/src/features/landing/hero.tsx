import { ArrowRight } from 'lucide-react'
import { RiskLine } from '@/components/risk-line'
import { Button } from '@/components/ui/button'
import { useProductName } from '@/lib/platform'
import { paths } from '@/lib/paths'
import { useDocumentTitle } from '@/lib/use-document-title'
import { HarbourLine } from './harbour-line'
import { Product } from './product'

/** The first screen: what this is, two ways on, what can be lost, and the product itself, which stands on the quay. */
export function Hero() {
  useDocumentTitle(useProductName())
  return (
    <section className="relative overflow-hidden">
      <div className="page-gutter relative z-10 mx-auto grid max-w-[1248px] gap-x-14 gap-y-10 pt-10 lg:pt-14 xl:grid-cols-[minmax(0,1fr)_minmax(0,600px)] xl:pt-16 xl:pb-[145px]">
        <div className="max-w-[720px]">
          <h1
            tabIndex={-1}
            className="text-display-phone tracking-[-0.02em] lg:text-display xl:text-display-beside"
          >
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
        <div className="max-w-[720px] self-end">
          <Product />
        </div>
      </div>
      <HarbourLine />
    </section>
  )
}
