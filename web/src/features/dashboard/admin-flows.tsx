import { lazy } from 'react'
import { ChartArea } from '@/components/chart-area'
import { ChartCard } from '@/components/chart-card'
import { Money } from '@/components/money'
import { useChartRange } from '@/components/use-chart-range'
import type { AdminOverview } from '@/lib/admin-overview'
import { barName, describePeriod } from '@/lib/chart-period'
import { add, subtract } from '@/lib/money'

const FlowBars = lazy(() => import('./admin-flow-bars'))

const days = { '30d': 30, '90d': 90 }
const offered = ['30d', '90d'] as const

/** Deposits up, withdrawals down, day by day; the net is told in words. */
export function FlowsCard({ flows }: { flows: AdminOverview['flows'] }) {
  const [range, setRange] = useChartRange(offered, '30d')
  const shown = flows.slice(-days[range])
  const deposits = add('0', ...shown.map((flow) => flow.deposits))
  const withdrawals = add('0', ...shown.map((flow) => flow.withdrawals))
  const period = describePeriod({ from: shown[0]?.day ?? '', to: shown.at(-1)?.day ?? '', bucket: 'day' })
  return (
    <ChartCard
      title="Deposits and withdrawals by day"
      summary={
        <>
          {period} Net{' '}
          <Money value={subtract(deposits, withdrawals)} signed className="font-semibold text-foreground" />
        </>
      }
      series={[
        { label: 'Deposits', colour: 'var(--chart-1)', value: <Money value={deposits} signed /> },
        {
          label: 'Withdrawals',
          colour: 'var(--chart-2)',
          value: <Money value={subtract('0', withdrawals)} signed />,
        },
      ]}
      range={range}
      onRange={setRange}
      offered={offered}
      table={{
        head: ['Day', 'Deposits', 'Withdrawals', 'Net'],
        rows: shown.map((flow) => [
          barName(flow.day, 'day'),
          <Money key="deposits" value={flow.deposits} />,
          <Money key="withdrawals" value={flow.withdrawals} />,
          <Money key="net" value={subtract(flow.deposits, flow.withdrawals)} signed />,
        ]),
      }}
    >
      <ChartArea className="h-72">
        <FlowBars flows={shown} />
      </ChartArea>
    </ChartCard>
  )
}
