import { useQuery } from '@tanstack/react-query'
import { lazy } from 'react'
import { BonusBreakdown } from '@/features/bonuses/bonus-breakdown'
import { EarningsCard } from '@/features/bonuses/earnings-card'
import { DashboardPage } from '@/features/dashboard/dashboard-page'
import { NetworkSummary } from '@/features/team/network-summary'
import { memberQuery } from '@/lib/member'

// Fetched when they are opened: the page opens with none of them.
const PairingTable = lazy(() => import('@/features/team/pairing-table'))
const TeamTree = lazy(() => import('@/features/team/team-tree'))

/** The dashboard frames what the bonuses and the team draw. */
export default function DashboardRoute() {
  const { data: member } = useQuery(memberQuery)
  const tree = member ? <TeamTree selfId={member.profile.id} /> : null
  return (
    <DashboardPage
      earnings={<EarningsCard />}
      tree={tree}
      panels={{
        bonuses: member ? <BonusBreakdown bonuses={member.bonuses} /> : null,
        pairing: <PairingTable />,
        network: <NetworkSummary />,
        tree,
      }}
    />
  )
}
