import { useQuery } from '@tanstack/react-query'
import { BonusBreakdown } from '@/features/bonuses/bonus-breakdown'
import { EarningsCard } from '@/features/bonuses/earnings-card'
import { DashboardPage } from '@/features/dashboard/dashboard-page'
import { NetworkSummary } from '@/features/team/network-summary'
import { PairingTable } from '@/features/team/pairing-table'
import { TeamTree } from '@/features/team/team-tree'
import { memberQuery } from '@/lib/member'

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
