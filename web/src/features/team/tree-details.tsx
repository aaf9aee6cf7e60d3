import { Money } from '@/components/money'
import { Facts, type Fact } from '@/components/review-dialog'
import { StatusBadge } from '@/components/status-badge'
import { Timestamp } from '@/components/timestamp'
import { Button } from '@/components/ui/button'
import { Sheet, SheetContent } from '@/components/ui/sheet'
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
      </SheetContent>
    </Sheet>
  )
}
