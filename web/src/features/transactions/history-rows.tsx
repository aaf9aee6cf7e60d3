import { Money } from '@/components/money'
import { MovementParty } from '@/components/movement-party'
import { StatusBadge } from '@/components/status-badge'
import { Timestamp } from '@/components/timestamp'
import { Table, TableCell, TableHead, TableRow } from '@/components/ui/table'
import type { HistoryItem } from '@/lib/member'
import { movementTitle } from '@/lib/movement'

/** What names an item in the address: ids of different tables could meet. */
export function itemKey(item: HistoryItem): string {
  return `${item.source}:${item.id}`
}

interface RowsProps {
  items: HistoryItem[]
  onOpen: (item: HistoryItem) => void
}

function Title({ item, onOpen }: { item: HistoryItem; onOpen: (item: HistoryItem) => void }) {
  return (
    <button
      type="button"
      className="min-h-6 rounded-mark text-left font-semibold hover:underline max-md:min-h-11"
      onClick={() => onOpen(item)}
    >
      {movementTitle(item)}
    </button>
  )
}

export function HistoryTable({ items, onOpen }: RowsProps) {
  return (
    <div className="hidden md:block">
      <Table>
        <thead>
          <tr>
            <TableHead>Date</TableHead>
            <TableHead>Type</TableHead>
            <TableHead data-align="right">Amount</TableHead>
            <TableHead className="pl-6">Status</TableHead>
            <TableHead>Details</TableHead>
          </tr>
        </thead>
        <tbody>
          {items.map((item) => (
            <TableRow key={itemKey(item)}>
              <TableCell className="text-muted-foreground">
                <Timestamp value={item.created_at} />
              </TableCell>
              <TableCell>
                <Title item={item} onOpen={onOpen} />
              </TableCell>
              <TableCell data-align="right" className="font-semibold">
                <Money value={item.amount} signed />
              </TableCell>
              <TableCell className="pl-6">
                <StatusBadge status={item.status} />
              </TableCell>
              <TableCell className="text-muted-foreground">
                <MovementParty item={item} />
              </TableCell>
            </TableRow>
          ))}
        </tbody>
      </Table>
    </div>
  )
}

export function HistoryCards({ items, onOpen }: RowsProps) {
  return (
    <ul className="divide-y border-y md:hidden">
      {items.map((item) => (
        <li key={itemKey(item)} className="py-2">
          <div className="flex items-center justify-between gap-4">
            <Title item={item} onOpen={onOpen} />
            <Money value={item.amount} signed className="font-semibold" />
          </div>
          <div className="flex items-center justify-between gap-4">
            <div className="flex min-w-0 flex-col text-compact text-muted-foreground">
              <MovementParty item={item} />
              <Timestamp value={item.created_at} />
            </div>
            <StatusBadge status={item.status} />
          </div>
        </li>
      ))}
    </ul>
  )
}
