import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense } from 'react'
import { Skeleton } from '@/components/ui/skeleton'
import { BonusBreakdown } from '@/features/bonuses/bonus-breakdown'
import { EarningsCard } from '@/features/bonuses/earnings-card'
import { DashboardPage } from '@/features/dashboard/dashboard-page'
import { NetworkSummary } from '@/features/team/network-summary'
import { memberQuery } from '@/lib/member'

// Fetched when they are opened: the page opens with none of them. Each waits in its own place: the tabs around it
// would be hidden otherwise, and lose the focus.
const PairingTable = lazy(() => import('@/features/team/pairing-table'))
const TeamTree = lazy(() => import('@/features/team/team-tree'))

/** The dashboard frames what the bonuses and the team draw. */
export default function DashboardRoute() {
  const { data: member } = useQuery(memberQuery)
  const tree = member ? (
    <Suspense fallback={<Skeleton className="h-96 w-full rounded-card" />}>
      <TeamTree selfId={member.profile.id} />
    </Suspense>
  ) : null
  return (
    <DashboardPage
      earnings={<EarningsCard />}
      tree={tree}
      panels={{
        bonuses: member ? <BonusBreakdown bonuses={member.bonuses} /> : null,
        pairing: (
          <Suspense fallback={<Skeleton className="h-80 w-full rounded-card" />}>
            <PairingTable />
          </Suspense>
        ),
        network: <NetworkSummary />,
        tree,
      }}
    />
  )
}
