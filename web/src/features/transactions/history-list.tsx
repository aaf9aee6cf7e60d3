import { Money } from '@/components/money'
import { MovementParty } from '@/components/movement-party'
import { StatusBadge } from '@/components/status-badge'
import { Timestamp } from '@/components/timestamp'
import { Button } from '@/components/ui/button'
import { Table, TableCell, TableHead, TableRow } from '@/components/ui/table'
import type { HistoryItem } from '@/lib/member'
import { formatMoney } from '@/lib/money'
import { movementTitle } from '@/lib/movement'
import { useMedia } from '@/lib/use-media'

interface HistoryListProps {
  items: HistoryItem[]
  onOpen: (item: HistoryItem) => void
}

export function itemKey(item: HistoryItem): string {
  return `${item.source}:${item.id}`
}

/** A table from 768 px, cards below; each row opens its details. */
export function HistoryList({ items, onOpen }: HistoryListProps) {
  const wide = useMedia('(min-width: 768px)')
  if (wide) return <Rows items={items} onOpen={onOpen} />
  return (
    <ul aria-label="Transactions" className="divide-y">
      {items.map((item) => (
        <Card key={itemKey(item)} item={item} onOpen={onOpen} />
      ))}
    </ul>
  )
}

function detailsName(item: HistoryItem): string {
  return `Details of ${movementTitle(item)}, ${formatMoney(item.amount, { signed: true })}`
}

function Rows({ items, onOpen }: HistoryListProps) {
  return (
    <Table aria-label="Transactions">
      <thead>
        <tr>
          <TableHead>Date</TableHead>
          <TableHead>Type</TableHead>
          <TableHead>From or to</TableHead>
          <TableHead>Status</TableHead>
          <TableHead data-align="right">Amount</TableHead>
          <TableHead data-align="right">Details</TableHead>
        </tr>
      </thead>
      <tbody>
        {items.map((item) => (
          <TableRow key={itemKey(item)}>
            <TableCell className="text-muted-foreground">
              <Timestamp value={item.created_at} />
            </TableCell>
            <TableCell className="font-semibold">{movementTitle(item)}</TableCell>
            <TableCell className="text-muted-foreground">
              <MovementParty item={item} />
            </TableCell>
            <TableCell>
              <StatusBadge status={item.status} />
            </TableCell>
            <TableCell data-align="right" className="font-semibold">
              <Money value={item.amount} signed />
            </TableCell>
            <TableCell data-align="right">
              <Button variant="link" size="text" aria-label={detailsName(item)} onClick={() => onOpen(item)}>
                Details
              </Button>
            </TableCell>
          </TableRow>
        ))}
      </tbody>
    </Table>
  )
}

function Card({ item, onOpen }: { item: HistoryItem; onOpen: (item: HistoryItem) => void }) {
  return (
    <li className="py-3 first:pt-0 last:pb-0">
      <div className="flex items-baseline justify-between gap-4 font-semibold">
        <button
          type="button"
          className="min-h-11 rounded-mark text-left hover:underline"
          aria-label={detailsName(item)}
          onClick={() => onOpen(item)}
        >
          {movementTitle(item)}
        </button>
        <Money value={item.amount} signed />
      </div>
      <div className="flex items-center justify-between gap-4">
        <div className="flex min-w-0 flex-col text-compact text-muted-foreground">
          <MovementParty item={item} />
          <Timestamp value={item.created_at} />
        </div>
        <StatusBadge status={item.status} />
      </div>
    </li>
  )
}
