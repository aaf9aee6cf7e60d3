import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { lazy, useState } from 'react'
import { ChartArea } from '@/components/chart-area'
import { ChartCard, type ChartRange } from '@/components/chart-card'
import { Region } from '@/components/region'
import { Skeleton } from '@/components/ui/skeleton'
import { barName, describeDays, describeRunning } from '@/lib/chart-period'
import { growthQuery, type TeamGrowth } from './api'

const TeamGrowthLines = lazy(() => import('./team-growth-lines'))

/** How many people stand below the member, and how many of them have a funded package. */
export function TeamGrowthCard() {
  const [range, setRange] = useState<ChartRange>('90d')
  const query = useQuery({ ...growthQuery(range), placeholderData: keepPreviousData })
  return (
    <Region
      query={query}
      errorText="Failed to load MLM data"
      loadingText="Loading team growth"
      skeleton={<Skeleton className="h-96 w-full rounded-card" />}
    >
      {(growth) => <Card growth={growth} range={range} onRange={setRange} />}
    </Region>
  )
}

interface CardProps {
  growth: TeamGrowth
  range: ChartRange
  onRange: (range: ChartRange) => void
}

function Card({ growth, range, onRange }: CardProps) {
  const last = growth.points.at(-1)
  return (
    <ChartCard
      title="Team growth"
      summary={
        <>
          {describeRunning(growth)} {last?.members ?? 0} people below you, {last?.funded ?? 0} with a funded
          package
          <span className="block">
            {growth.joined.members} joined and {growth.joined.funded} were funded in this time
            {growth.previous
              ? `; ${growth.previous.members} and ${growth.previous.funded} in ${describeDays(growth.previous)}`
              : ''}
          </span>
        </>
      }
      series={[
        { label: 'Team', colour: 'var(--chart-1)', value: last?.members },
        { label: 'Funded', colour: 'var(--chart-2)', value: last?.funded },
      ]}
      range={range}
      onRange={onRange}
      table={{
        head: ['Until', 'Team', 'Funded'],
        rows: growth.points.map((point) => [
          barName(point.start, growth.bucket, point === last),
          point.members,
          point.funded,
        ]),
      }}
    >
      <ChartArea className="h-60">
        <TeamGrowthLines growth={growth} />
      </ChartArea>
    </ChartCard>
  )
}
