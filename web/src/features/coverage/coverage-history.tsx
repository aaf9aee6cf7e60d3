import { useQuery } from '@tanstack/react-query'
import { lazy } from 'react'
import { ChartArea } from '@/components/chart-area'
import { ChartCard, type ChartRange } from '@/components/chart-card'
import { EmptyState } from '@/components/empty-state'
import { Money } from '@/components/money'
import { Region } from '@/components/region'
import { Skeleton } from '@/components/ui/skeleton'
import { useChartRange } from '@/components/use-chart-range'
import { readableTop } from '@/lib/chart-axis'
import { barName, describePeriod } from '@/lib/chart-period'
import { coverageHistoryQuery, type CoverageDay } from './api'
import { DayRatio } from './day-ratio'

const CoverageLine = lazy(() => import('./coverage-line'))

const spans: Record<ChartRange, number> = { '30d': 30, '90d': 90, '12m': 366, all: 3660 }
const offered: readonly ChartRange[] = ['30d', '90d', '12m', 'all']

function History({
  days,
  range,
  onRange,
}: {
  days: CoverageDay[]
  range: ChartRange
  onRange: (range: ChartRange) => void
}) {
  const latest = days.at(-1)
  const ratios = days.flatMap(({ ratio }) => (ratio === null ? [] : [Number(ratio)]))
  const top = readableTop(ratios)
  const above = ratios.filter((ratio) => ratio > top).length
  return (
    <ChartCard
      title="Coverage by day"
      summary={describePeriod({ from: days[0]?.day ?? '', to: latest?.day ?? '', bucket: 'day' })}
      series={[
        {
          // The last day that is over, which is not what coverage is now.
          label: latest ? `At the end of ${barName(latest.day, 'day')} (UTC)` : 'Coverage',
          colour: 'var(--chart-1)',
          value: latest ? <DayRatio day={latest} /> : null,
        },
      ]}
      range={range}
      onRange={onRange}
      table={{
        head: ['Day', 'Coverage', 'Withdrawable', 'Pending'],
        rows: days.map((day) => [
          barName(day.day, 'day'),
          <DayRatio key="ratio" day={day} />,
          <Money key="withdrawable" value={day.withdrawable} />,
          <Money key="pending" value={day.pending} />,
        ]),
      }}
    >
      <ChartArea className="h-72">
        <CoverageLine days={days} top={top} />
      </ChartArea>
      {above > 0 ? (
        <p className="text-compact text-muted-foreground">
          {above === 1 ? '1 day' : `${above.toLocaleString('en-US')} days`} above{' '}
          {top.toLocaleString('en-US')}% {above === 1 ? 'is' : 'are'} cut off at the top edge; the table has
          every figure.
        </p>
      ) : null}
    </ChartCard>
  )
}

/** Coverage as it was kept each day; a past day never changes. */
export function CoverageHistory() {
  const [range, setRange] = useChartRange(offered, '90d')
  const query = useQuery(coverageHistoryQuery(spans[range]))
  return (
    <Region
      query={query}
      errorText="The history of coverage did not load."
      loadingText="Loading the history of coverage"
      skeleton={<Skeleton className="h-96 rounded-card" />}
      isEmpty={(days) => days.length === 0}
      empty={
        <EmptyState
          drawing="ledger"
          title="No history yet"
          text="Coverage is recorded once a day and appears here."
        />
      }
    >
      {(days) => <History days={days} range={range} onRange={setRange} />}
    </Region>
  )
}
