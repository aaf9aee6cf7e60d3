import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { Link, useSearchParams } from 'react-router'
import type { ChartRange } from '@/components/chart-card'
import { FigureRowSkeleton } from '@/components/figure-row'
import { LedgerBanner } from '@/components/ledger-banner'
import { Notice } from '@/components/notice'
import { PageHead } from '@/components/page-head'
import { RefreshButton } from '@/components/refresh-button'
import { Region } from '@/components/region'
import { Button } from '@/components/ui/button'
import { Skeleton } from '@/components/ui/skeleton'
import { Tabs, TabsContent, TabsList, TabsTrigger } from '@/components/ui/tabs'
import { useChartRange } from '@/components/use-chart-range'
import { adminOverviewQuery } from '@/lib/admin-overview'
import { confirmableCount, correctionsQuery } from '@/lib/corrections'
import { paths } from '@/lib/paths'
import { adminStatsQuery, flowsQuery } from './admin-api'
import { CoverageCard } from './admin-coverage'
import { FinancialFigures, OverviewFigures, UserFigures } from './admin-figures'
import { FlowsCard } from './admin-flows'
import { LedgerState } from './admin-ledger'
import { OldestRequests } from './admin-oldest'
import { RecentTransactions } from './admin-recent'

const tabs = [
  { value: 'overview', label: 'Overview' },
  { value: 'users', label: 'Users' },
  { value: 'financial', label: 'Financial' },
  { value: 'recent', label: 'Recent Transactions' },
] as const

const ranges: readonly ChartRange[] = ['30d', '90d', '12m', 'all']

/** Corrections that wait for a second administrator, where the one who looks may be it. */
function WaitingCorrections() {
  const count = confirmableCount(useQuery(correctionsQuery).data)
  if (count === 0) return null
  return (
    <Notice
      tone="warning"
      className="mt-4"
      action={
        <Button variant="outline" size="compact" asChild>
          <Link to={paths.admin.corrections}>Review corrections</Link>
        </Button>
      }
    >
      {count === 1 ? 'One correction waits' : `${count} corrections wait`} for a second administrator.
    </Notice>
  )
}

/** What waits longest, then the totals, each tab with its own part of them. */
export function AdminDashboard() {
  const overview = useQuery(adminOverviewQuery)
  const stats = useQuery(adminStatsQuery)
  const [parameters, setParameters] = useSearchParams()
  const tab = tabs.find(({ value }) => value === parameters.get('tab'))?.value ?? 'overview'
  const [range, setRange] = useChartRange(ranges, '30d')
  const flows = useQuery({
    ...flowsQuery(range),
    enabled: tab === 'financial',
    placeholderData: keepPreviousData,
  })

  function figures(body: (data: NonNullable<typeof stats.data>) => React.ReactNode) {
    return (
      <Region
        query={stats}
        errorText="Failed to load dashboard statistics"
        skeleton={
          <FigureRowSkeleton
            notes={['', 'with packages', 'waiting for a decision', 'waiting for a decision']}
          />
        }
      >
        {body}
      </Region>
    )
  }

  return (
    <>
      <PageHead
        title="Admin Dashboard"
        purpose="Pending work and the state of the ledger checks."
        actions={
          <RefreshButton queries={tab === 'financial' ? [overview, stats, flows] : [overview, stats]} />
        }
      />
      <LedgerBanner className="mt-4" />
      <WaitingCorrections />
      <div className="mt-4">
        <Region
          query={overview}
          errorText="Failed to load dashboard data"
          skeleton={<Skeleton className="mb-8 h-20 rounded-card" />}
        >
          {(data) => (
            <>
              <OldestRequests oldest={data.oldest_pending} />
              <LedgerState overview={data} />
            </>
          )}
        </Region>
      </div>
      <Tabs
        className="mt-4"
        value={tab}
        onValueChange={(value) =>
          setParameters(value === 'overview' ? {} : { tab: value }, { preventScrollReset: true })
        }
      >
        <TabsList aria-label="Totals">
          {tabs.map(({ value, label }) => (
            <TabsTrigger key={value} value={value}>
              {label}
            </TabsTrigger>
          ))}
        </TabsList>
        <TabsContent value="overview">
          {figures((data) => (
            <OverviewFigures stats={data} />
          ))}
        </TabsContent>
        <TabsContent value="users">
          {figures((data) => (
            <UserFigures stats={data} />
          ))}
        </TabsContent>
        <TabsContent value="financial" className="flex flex-col gap-6">
          {figures((data) => (
            <FinancialFigures stats={data} asOf={new Date(stats.dataUpdatedAt).toISOString()} />
          ))}
          <div className="grid gap-4 xl:grid-cols-[minmax(0,2.2fr)_minmax(0,1fr)]">
            <div className="flex min-w-0 flex-col">
              <Region
                query={flows}
                errorText="Failed to load dashboard data"
                loadingText="Loading deposits and withdrawals"
                skeleton={<Skeleton className="h-96 rounded-card" />}
              >
                {(data) => <FlowsCard flows={data} range={range} onRange={setRange} />}
              </Region>
            </div>
            <div className="flex min-w-0 flex-col">
              <Region
                query={overview}
                errorText="Failed to load dashboard data"
                skeleton={<Skeleton className="h-96 rounded-card" />}
              >
                {(data) => (data.coverage ? <CoverageCard coverage={data.coverage} /> : null)}
              </Region>
            </div>
          </div>
        </TabsContent>
        <TabsContent value="recent">
          <Region
            query={overview}
            errorText="Failed to load dashboard data"
            skeleton={<Skeleton className="h-96 rounded-card" />}
          >
            {(data) => <RecentTransactions recent={data.recent} />}
          </Region>
        </TabsContent>
      </Tabs>
    </>
  )
}
