import {
  CartesianGrid,
  Line,
  LineChart,
  ReferenceLine,
  ResponsiveContainer,
  Tooltip,
  XAxis,
  YAxis,
} from 'recharts'
import { axisDay, barName } from '@/lib/chart-period'
import type { CoverageDay } from './api'
import { DayRatio } from './day-ratio'

const tick = { fill: 'var(--muted-foreground)', fontSize: '0.8125rem' }

/** The ratio of each kept day; a day without one is a gap. */
export default function CoverageLine({ days, top }: { days: CoverageDay[]; top: number }) {
  const rows = days.map((day) => ({ day, ratio: day.ratio === null ? null : Number(day.ratio) }))
  return (
    <ResponsiveContainer width="100%" height="100%">
      <LineChart data={rows} margin={{ top: 12, right: 8, bottom: 0, left: 4 }} title="Coverage by day">
        <CartesianGrid vertical={false} stroke="var(--border)" />
        <XAxis
          dataKey={({ day }: (typeof rows)[number]) => axisDay(day.day, 'day')}
          tickLine={{ stroke: 'var(--input)' }}
          axisLine={{ stroke: 'var(--input)' }}
          tick={tick}
          minTickGap={24}
        />
        <YAxis
          width="auto"
          tickFormatter={(value: number) => `${value.toLocaleString('en-US')}%`}
          tickLine={false}
          axisLine={false}
          tick={tick}
          domain={[0, top]}
          allowDataOverflow
        />
        <Tooltip
          cursor={{ stroke: 'var(--input)' }}
          content={({ active, payload }) => {
            const row = (payload[0] as { payload?: (typeof rows)[number] } | undefined)?.payload
            if (!active || !row) return null
            return (
              <div className="tabular rounded-control border bg-popover p-3 text-compact shadow-popover">
                <p className="font-semibold">{barName(row.day.day, 'day')}</p>
                <DayRatio day={row.day} />
              </div>
            )
          }}
        />
        <ReferenceLine y={100} stroke="var(--destructive)" strokeDasharray="5 4" />
        <Line
          type="linear"
          dataKey="ratio"
          name="Coverage"
          stroke="var(--chart-1)"
          strokeWidth={2}
          dot={rows.length === 1}
          isAnimationActive={false}
        />
      </LineChart>
    </ResponsiveContainer>
  )
}
