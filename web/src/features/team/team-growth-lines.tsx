import { CartesianGrid, Line, LineChart, ResponsiveContainer, Tooltip, XAxis, YAxis } from 'recharts'
import { axisDay, barName } from '@/lib/chart-period'
import type { TeamGrowth } from './api'

const tick = { fill: 'var(--muted-foreground)', fontSize: 13 }

/** Steps, because a team grows by whole people; the funded part is dashed. */
export default function TeamGrowthLines({ growth }: { growth: TeamGrowth }) {
  const { bucket } = growth
  const single = growth.points.length === 1
  return (
    <ResponsiveContainer width="100%" height="100%">
      <LineChart data={growth.points} margin={{ top: 12, right: 8, bottom: 0, left: 4 }} title="Team growth">
        <CartesianGrid vertical={false} stroke="var(--border)" />
        <XAxis
          dataKey="start"
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
                <p className="font-semibold">{barName(point.start, bucket)}</p>
                <p>
                  {point.members} in the team, {point.funded} funded
                </p>
              </div>
            )
          }}
        />
        <Line
          type="stepAfter"
          dataKey="members"
          name="Team"
          stroke="var(--chart-1)"
          strokeWidth={2}
          dot={single}
          isAnimationActive={false}
        />
        <Line
          type="stepAfter"
          dataKey="funded"
          name="Funded"
          stroke="var(--chart-2)"
          strokeWidth={2}
          strokeDasharray="5 4"
          dot={single}
          isAnimationActive={false}
        />
      </LineChart>
    </ResponsiveContainer>
  )
}
