import { lazy } from 'react'
import { ChartArea } from '@/components/chart-area'
import { ChartCard, type ChartRange } from '@/components/chart-card'
import { Money } from '@/components/money'
import { barName, describeDays, describeRunning } from '@/lib/chart-period'
import { subtract } from '@/lib/money'
import type { Flows } from './admin-api'

const FlowBars = lazy(() => import('./admin-flow-bars'))

const heads = { day: 'Day', week: 'Week', month: 'Month' }

interface FlowsCardProps {
  flows: Flows
  range: ChartRange
  onRange: (range: ChartRange) => void
}

/** Deposits up, withdrawals down, over time; the net is told in words. */
export function FlowsCard({ flows, range, onRange }: FlowsCardProps) {
  const { totals, previous, points, bucket } = flows
  return (
    <ChartCard
      className="grow"
      title={`Deposits and withdrawals by ${bucket}`}
      summary={
        <>
          {describeRunning(flows)} Net{' '}
          <Money value={totals.net} signed className="font-semibold text-foreground" />
          {previous ? (
            <span className="block">
              <Money value={previous.net} signed /> in {describeDays(previous)}
            </span>
          ) : null}
        </>
      }
      series={[
        { label: 'Deposits', colour: 'var(--chart-1)', value: <Money value={totals.deposits} signed /> },
        {
          label: 'Withdrawals',
          colour: 'var(--chart-2)',
          value: <Money value={subtract('0', totals.withdrawals)} signed />,
        },
      ]}
      range={range}
      onRange={onRange}
      table={{
        head: [heads[bucket], 'Deposits', 'Withdrawals', 'Net'],
        rows: points.map((point, index) => [
          barName(point.start, bucket, index === points.length - 1),
          <Money key="deposits" value={point.deposits} />,
          <Money key="withdrawals" value={point.withdrawals} />,
          <Money key="net" value={subtract(point.deposits, point.withdrawals)} signed />,
        ]),
      }}
    >
      <ChartArea className="h-72">
        <FlowBars points={points} bucket={bucket} />
      </ChartArea>
    </ChartCard>
  )
}
