import {
  Bar,
  BarChart,
  CartesianGrid,
  ReferenceLine,
  ResponsiveContainer,
  Tooltip,
  XAxis,
  YAxis,
} from 'recharts'
import { Money } from '@/components/money'
import { axisDay, barName, type Bucket } from '@/lib/chart-period'
import { formatAxis, subtract } from '@/lib/money'
import type { FlowPoint } from './admin-api'

interface Row {
  point: FlowPoint
  name: string
  /** Heights only; what is printed comes from the decimal texts. */
  deposits: number
  withdrawals: number
}

function TooltipBox({ point, bucket, running }: { point: FlowPoint; bucket: Bucket; running: boolean }) {
  return (
    <div className="rounded-control border bg-popover p-3 text-compact shadow-popover">
      <p className="font-semibold">{barName(point.start, bucket, running)}</p>
      <p className="flex justify-between gap-6">
        Deposits <Money value={point.deposits} />
      </p>
      <p className="flex justify-between gap-6">
        Withdrawals <Money value={point.withdrawals} />
      </p>
      <p className="mt-1 flex justify-between gap-6 border-t pt-1 font-semibold">
        Net <Money value={subtract(point.deposits, point.withdrawals)} signed />
      </p>
    </div>
  )
}

const tick = { fill: 'var(--muted-foreground)', fontSize: '0.8125rem' }

export default function FlowBars({ points, bucket }: { points: FlowPoint[]; bucket: Bucket }) {
  const rows: Row[] = points.map((point) => ({
    point,
    name: axisDay(point.start, bucket),
    deposits: Number(point.deposits),
    withdrawals: -Number(point.withdrawals),
  }))
  const still = matchMedia('(prefers-reduced-motion: reduce)').matches
  return (
    <ResponsiveContainer width="100%" height="100%">
      <BarChart
        data={rows}
        stackOffset="sign"
        margin={{ top: 8, right: 4, bottom: 0, left: 4 }}
        title={`Deposits and withdrawals by ${bucket}`}
      >
        <CartesianGrid vertical={false} stroke="var(--border)" />
        <XAxis
          dataKey="name"
          tickLine={{ stroke: 'var(--input)' }}
          axisLine={{ stroke: 'var(--border)' }}
          tick={tick}
          minTickGap={32}
        />
        <YAxis width="auto" tickFormatter={formatAxis} tickLine={false} axisLine={false} tick={tick} />
        <Tooltip
          cursor={{ fill: 'var(--muted)' }}
          content={({ active, payload }) => {
            const row = (payload[0] as { payload?: Row } | undefined)?.payload
            return active && row ? (
              <TooltipBox point={row.point} bucket={bucket} running={row === rows.at(-1)} />
            ) : null
          }}
        />
        <ReferenceLine y={0} stroke="var(--input)" />
        <Bar
          dataKey="deposits"
          name="Deposits"
          stackId="flow"
          fill="var(--chart-1)"
          maxBarSize={16}
          isAnimationActive={!still}
        />
        <Bar
          dataKey="withdrawals"
          name="Withdrawals"
          stackId="flow"
          fill="var(--chart-2)"
          maxBarSize={16}
          isAnimationActive={!still}
        />
      </BarChart>
    </ResponsiveContainer>
  )
}
