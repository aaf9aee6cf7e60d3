import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { lazy } from 'react'
import { ChartArea } from '@/components/chart-area'
import { ChartCard, type ChartRange } from '@/components/chart-card'
import { Money } from '@/components/money'
import { Region } from '@/components/region'
import { Skeleton } from '@/components/ui/skeleton'
import { barName, describeDays, describeRunning } from '@/lib/chart-period'
import { add, compare, formatMoney, subtract, unsigned, type Decimal } from '@/lib/money'
import { put, useAddress } from '@/lib/use-address'
import { earningsQuery, type Earnings } from './api'

const EarningsBars = lazy(() => import('./earnings-bars'))

const ranges: ChartRange[] = ['30d', '90d', '12m', 'all']
const chartHeight = 'h-60'

/** The range stands in the address, so that a link opens the same chart. */
function useRange(): [ChartRange, (range: ChartRange) => void] {
  const [parameters, setParameters] = useAddress()
  const given = parameters.get('range')
  const range = ranges.find((known) => known === given) ?? '90d'
  return [range, (next) => setParameters((present) => put(present, 'range', next), { replace: true })]
}

/** What kind of bonus pays, and when: stacked bars, or the same numbers as a table. */
export function EarningsCard() {
  const [range, setRange] = useRange()
  const query = useQuery({ ...earningsQuery(range), placeholderData: keepPreviousData })
  return (
    <Region
      query={query}
      errorText="Failed to load MLM data"
      loadingText="Loading earnings"
      skeleton={<CardSkeleton />}
    >
      {(earnings) => <Card earnings={earnings} range={range} onRange={setRange} />}
    </Region>
  )
}

/** "$12.50 more than in", "The same as in": how a total compares with the one of another period. */
function comparison(total: Decimal, previous: Decimal): string {
  const difference = subtract(total, previous)
  if (compare(difference, '0') === 0) return 'The same as in'
  const amount = formatMoney(unsigned(difference))
  return `${amount} ${compare(difference, '0') > 0 ? 'more' : 'less'} than in`
}

interface CardProps {
  earnings: Earnings
  range: ChartRange
  onRange: (range: ChartRange) => void
}

function Card({ earnings, range, onRange }: CardProps) {
  const { totals, previous, points, bucket } = earnings
  const empty = compare(totals.total, '0') === 0
  return (
    <ChartCard
      title="Earnings by type"
      className="h-full"
      summary={
        <>
          {describeRunning(earnings)} Total{' '}
          <Money value={totals.total} className="font-semibold text-foreground" />
          {previous ? (
            <span className="block">
              {comparison(totals.total, previous.total)} {describeDays(previous)} (
              <Money value={previous.total} />)
            </span>
          ) : null}
        </>
      }
      series={[
        { label: 'Pairing', colour: 'var(--chart-1)', value: <Money value={totals.pairing} /> },
        { label: 'Referral', colour: 'var(--chart-2)', value: <Money value={totals.referral} /> },
        { label: 'Override', colour: 'var(--chart-3)', value: <Money value={totals.override} /> },
      ]}
      range={range}
      onRange={onRange}
      table={{
        head: [
          bucket === 'day' ? 'Day' : bucket === 'week' ? 'Week' : 'Month',
          'Pairing',
          'Referral',
          'Override',
          'Total',
        ],
        rows: points.map((point, index) => [
          barName(point.start, bucket, index === points.length - 1),
          <Money key="pairing" value={point.pairing} />,
          <Money key="referral" value={point.referral} />,
          <Money key="override" value={point.override} />,
          <Money key="total" value={add(point.pairing, point.referral, point.override)} />,
        ]),
      }}
    >
      <ChartArea
        className={chartHeight}
        over={
          empty ? (
            <p className="absolute inset-x-0 top-1/3 text-center text-muted-foreground">
              Your first bonus will appear here.
            </p>
          ) : null
        }
      >
        <EarningsBars points={points} bucket={bucket} />
      </ChartArea>
    </ChartCard>
  )
}

function CardSkeleton() {
  return (
    <div className="card-box flex h-full flex-col gap-4">
      <Skeleton className="h-5 w-44" />
      <Skeleton className="w-64 max-w-full" />
      <Skeleton className={`w-full ${chartHeight}`} />
      <Skeleton className="w-28" />
    </div>
  )
}
