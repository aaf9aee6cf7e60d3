import { useQuery } from '@tanstack/react-query'
import { CircleAlert } from 'lucide-react'
import { CoverageFigures } from '@/components/coverage-figures'
import { Money, Percent } from '@/components/money'
import { PageHead } from '@/components/page-head'
import { RefreshButton } from '@/components/refresh-button'
import { Region } from '@/components/region'
import { Skeleton } from '@/components/ui/skeleton'
import { cn } from '@/lib/cn'
import { compare } from '@/lib/money'
import { coverageQuery, type CoverageNow } from './api'
import { CoverageHistory } from './coverage-history'

/** How much of the coverage is only there because of the newest deposits. */
function RestsOn({ rests }: { rests: CoverageNow['rests_on'] }) {
  return (
    <section aria-labelledby="rests-on" className="card-box">
      <h2 id="rests-on" className="text-section">
        Dependence on recent deposits
      </h2>
      <p className="text-muted-foreground">Coverage without these deposits.</p>
      <dl className="mt-4 border-t">
        {rests.map(({ days, deposits, ratio_without }) => {
          const short = ratio_without !== null && compare(ratio_without, '100') < 0
          return (
            <div key={days} className="flex flex-wrap justify-between gap-x-4 border-b py-2.5">
              <dt>
                Without the last {days} days
                <span className="block text-compact text-muted-foreground">
                  Deposits of <Money value={deposits} />
                </span>
              </dt>
              <dd className={cn('flex items-start gap-2 font-semibold', short && 'text-destructive')}>
                {short ? (
                  <CircleAlert className="mt-1 size-4" aria-label="Below what members can withdraw" />
                ) : null}
                <Percent value={ratio_without} />
              </dd>
            </div>
          )
        })}
      </dl>
    </section>
  )
}

/** Whether what came in and stayed covers what members can withdraw. */
export function CoveragePage() {
  const query = useQuery(coverageQuery)
  return (
    <>
      <PageHead
        title="Coverage"
        purpose="Whether the ledger covers what members can withdraw."
        actions={<RefreshButton queries={[query]} />}
      />
      <div className="mt-6 flex flex-col gap-4">
        <Region
          query={query}
          errorText="Coverage did not load."
          loadingText="Loading coverage"
          skeleton={<Skeleton className="h-96 rounded-card" />}
        >
          {(coverage) => (
            <div className="grid items-start gap-4 lg:grid-cols-2">
              <section aria-labelledby="coverage" className="card-box">
                <h2 id="coverage" className="text-section">
                  Now
                </h2>
                <CoverageFigures coverage={coverage} />
              </section>
              <RestsOn rests={coverage.rests_on} />
            </div>
          )}
        </Region>
        <CoverageHistory />
      </div>
    </>
  )
}
