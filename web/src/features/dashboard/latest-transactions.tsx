import { ChevronRight } from 'lucide-react'
import { Link } from 'react-router'
import { EmptyState } from '@/components/empty-state'
import { MovementAmount } from '@/components/movement-amount'
import { MovementParty } from '@/components/movement-party'
import { StatusBadge } from '@/components/status-badge'
import { Timestamp } from '@/components/timestamp'
import { Table, TableCell, TableHead, TableRow } from '@/components/ui/table'
import { cn } from '@/lib/cn'
import type { HistoryItem } from '@/lib/member'
import { movedNothing, movementTitle, shownStatus } from '@/lib/movement'
import { paths } from '@/lib/paths'
import { useMedia } from '@/lib/use-media'

/** The newest five movements, each leading to its details. */
export function LatestTransactions({ items }: { items: HistoryItem[] }) {
  return (
    <section aria-labelledby="latest-transactions" className="card-box min-w-0">
      <div className="flex items-center justify-between gap-4">
        <h2 id="latest-transactions" className="text-section">
          Latest transactions
        </h2>
        <Link
          to={paths.transactions}
          aria-label="View all transactions"
          className="inline-flex min-h-6 items-center gap-1 rounded-mark text-compact font-semibold text-primary hover:underline pointer-coarse:min-h-11"
        >
          View all
          <ChevronRight className="size-4" aria-hidden />
        </Link>
      </div>
      {items.length === 0 ? (
        <EmptyState drawing="mooring" title="No transactions yet" text="Your first one will appear here." />
      ) : (
        <List items={items} />
      )}
    </section>
  )
}

function List({ items }: { items: HistoryItem[] }) {
  const wide = useMedia('(min-width: 48rem)')
  return wide ? <Rows items={items} /> : <Cards items={items} />
}

function details(item: HistoryItem): string {
  return `${paths.transactions}?item=${item.source}:${item.id}`
}

function Rows({ items }: { items: HistoryItem[] }) {
  return (
    <Table>
      <thead>
        <tr>
          <TableHead>Type</TableHead>
          <TableHead>From or to</TableHead>
          <TableHead>Date</TableHead>
          <TableHead>Status</TableHead>
          <TableHead data-align="right">Amount</TableHead>
        </tr>
      </thead>
      <tbody>
        {items.map((item) => (
          <TableRow key={`${item.source}-${item.id}`}>
            <TableCell
              className={cn(
                'whitespace-nowrap',
                movedNothing(item) ? 'text-muted-foreground' : 'font-semibold',
              )}
            >
              <Link to={details(item)} className="rounded-mark hover:underline">
                {movementTitle(item)}
              </Link>
            </TableCell>
            <TableCell className="text-muted-foreground">
              <MovementParty item={item} />
            </TableCell>
            <TableCell className="text-muted-foreground">
              <Timestamp value={item.created_at} />
            </TableCell>
            <TableCell>
              <StatusBadge status={shownStatus(item)} />
            </TableCell>
            <TableCell data-align="right" className="font-semibold">
              <MovementAmount item={item} dash />
            </TableCell>
          </TableRow>
        ))}
      </tbody>
    </Table>
  )
}

function Cards({ items }: { items: HistoryItem[] }) {
  return (
    <ul className="mt-1 divide-y">
      {items.map((item) => (
        <li key={`${item.source}-${item.id}`} className="py-3 last:pb-0">
          <div className="flex items-baseline justify-between gap-4 font-semibold">
            <Link
              to={details(item)}
              className={cn(
                'rounded-mark hover:underline',
                movedNothing(item) && 'font-normal text-muted-foreground',
              )}
            >
              {movementTitle(item)}
            </Link>
            <MovementAmount item={item} dash />
          </div>
          <div className="mt-0.5 flex items-center justify-between gap-4">
            <div className="flex min-w-0 flex-col text-compact text-muted-foreground">
              <MovementParty item={item} />
              <Timestamp value={item.created_at} />
            </div>
            <StatusBadge status={shownStatus(item)} />
          </div>
        </li>
      ))}
    </ul>
  )
}
