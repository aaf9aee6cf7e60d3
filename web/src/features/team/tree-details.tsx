import { useQuery } from '@tanstack/react-query'
import { Money } from '@/components/money'
import { Facts, type Fact } from '@/components/review-dialog'
import { Region } from '@/components/region'
import { StatusBadge } from '@/components/status-badge'
import { Timestamp } from '@/components/timestamp'
import { Button } from '@/components/ui/button'
import { Sheet, SheetContent } from '@/components/ui/sheet'
import { Skeleton } from '@/components/ui/skeleton'
import { treeQuery } from './api'
import { fullNameOf, nameOf } from './names'
import { describePair, type MemberRow } from './tree-rows'

interface TreeDetailsProps {
  row: MemberRow
  onClose: () => void
  onRoot: (id: string) => void
}

/** What a member may know about someone in the own line. */
export function TreeDetails({ row, onClose, onRoot }: TreeDetailsProps) {
  const { node, child } = row
  const facts: Fact[] = [
    { label: 'Username', value: nameOf(node) },
    { label: 'Package', value: <Money value={node.package_value} /> },
    { label: 'Funded', value: <StatusBadge status={node.funded ? 'funded' : 'not funded'} /> },
    { label: 'Direct referrals', value: node.direct_referrals.toLocaleString('en-US') },
    { label: 'Joined', value: <Timestamp value={node.created_at} exact /> },
  ]
  if (child)
    facts.splice(
      1,
      0,
      { label: 'Position', value: child.position },
      { label: 'Pair', value: describePair(child) },
    )
  return (
    <Sheet open onOpenChange={(open) => !open && onClose()}>
      <SheetContent
        side="right"
        title={fullNameOf(node)}
        footer={
          node.direct_referrals > 0 && child ? (
            <Button variant="outline" onClick={() => onRoot(node.id)}>
              Open this team
            </Button>
          ) : null
        }
      >
        <Facts facts={facts} />
        {node.direct_referrals > 0 ? (
          <div className="mt-4">
            <TeamFacts id={node.id} />
          </div>
        ) : null}
      </SheetContent>
    </Sheet>
  )
}

/** Everybody below, however deep. Comes with the first page of the branch, which opens at once afterwards. */
function TeamFacts({ id }: { id: string }) {
  return (
    <Region
      query={useQuery(treeQuery(id, 0))}
      errorText="Failed to load MLM data"
      loadingText="Loading team"
      skeleton={<Skeleton className="h-22" />}
    >
      {({ root }) => (
        <Facts
          facts={[
            { label: 'Whole team', value: root.team_count.toLocaleString('en-US') },
            { label: 'Team packages', value: <Money value={root.team_packages} /> },
          ]}
        />
      )}
    </Region>
  )
}
