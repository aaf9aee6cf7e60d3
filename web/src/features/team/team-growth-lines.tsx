import {
  CartesianGrid,
  Line,
  LineChart,
  ResponsiveContainer,
  Tooltip,
  XAxis,
  YAxis,
  type DotItemDotProps,
} from 'recharts'
import { axisDay, barName } from '@/lib/chart-period'
import type { TeamGrowth } from './api'

const tick = { fill: 'var(--muted-foreground)', fontSize: '0.8125rem' }

/** Steps, because a team grows by whole people; the funded part is dashed. */
export default function TeamGrowthLines({ growth }: { growth: TeamGrowth }) {
  const { bucket } = growth
  const last = growth.points.at(-1)
  // Only the point of today: what the line says so far.
  const dot = ({ payload, cx, cy, stroke }: DotItemDotProps) =>
    payload === last ? <circle key="today" cx={cx} cy={cy} r={4} fill={stroke} /> : <g key={String(cx)} />
  return (
    <ResponsiveContainer width="100%" height="100%">
      <LineChart data={growth.points} margin={{ top: 12, right: 8, bottom: 0, left: 4 }} title="Team growth">
        <CartesianGrid vertical={false} stroke="var(--border)" />
        <XAxis
          dataKey="start"
          // Each point in the middle of its period, the last one too: a step of today is not at the edge.
          scale="band"
          tickFormatter={(start: string) => axisDay(start, bucket)}
          tickLine={{ stroke: 'var(--input)' }}
          axisLine={{ stroke: 'var(--input)' }}
          tick={tick}
          minTickGap={24}
        />
        <YAxis
          width="auto"
          allowDecimals={false}
          tickLine={false}
          axisLine={false}
          tick={tick}
          domain={[0, 'auto']}
        />
        <Tooltip
          cursor={{ stroke: 'var(--input)' }}
          content={({ active, payload }) => {
            const point = (payload[0] as { payload?: TeamGrowth['points'][number] } | undefined)?.payload
            if (!active || !point) return null
            return (
              <div className="tabular rounded-control border bg-popover p-3 text-compact shadow-popover">
                <p className="font-semibold">{barName(point.start, bucket, point === last)}</p>
                <p>
                  {point.members} in the team, {point.funded} funded
                </p>
              </div>
            )
          }}
        />
        <Line
          type="step"
          dataKey="members"
          name="Team"
          stroke="var(--chart-1)"
          strokeWidth={2}
          dot={dot}
          isAnimationActive={false}
        />
        <Line
          type="step"
          dataKey="funded"
          name="Funded"
          stroke="var(--chart-2)"
          strokeWidth={2}
          strokeDasharray="5 4"
          dot={dot}
          isAnimationActive={false}
        />
      </LineChart>
    </ResponsiveContainer>
  )
}
