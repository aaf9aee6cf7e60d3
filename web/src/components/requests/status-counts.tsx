import { cn } from '@/lib/cn'
import type { TableController } from '@/components/data-table/table-state'
import { Skeleton } from '@/components/ui/skeleton'
import type { RequestCounts, RequestNoun } from '@/lib/request-changes'

const statuses = [
  { status: 'pending', label: 'Pending Approval' },
  { status: 'approved', label: 'Approved' },
  { status: 'rejected', label: 'Rejected' },
] as const

const payouts = [
  { status: 'unpaid', label: 'Unpaid' },
  { status: 'paid', label: 'Paid' },
] as const

/** How many requests there are of each status; a press shows those, a second press shows all. */
export function StatusCounts({
  noun,
  counts,
  table,
}: {
  noun: RequestNoun
  counts: RequestCounts | undefined
  table: TableController
}) {
  const chosen = table.state.filters.status
  return (
    <div role="group" aria-label="Filter by status" className="-mb-px flex min-w-0 flex-wrap">
      {[...statuses, ...(noun === 'withdrawal' ? payouts : [])].map(({ status, label }) => {
        const active = chosen === status
        return (
          <button
            key={status}
            type="button"
            aria-pressed={active}
            onClick={() => table.change({ filters: { status: active ? 'all' : status } })}
            className={cn(
              'relative flex min-w-28 flex-col items-start gap-0.5 rounded-badge py-3 pr-4 text-left whitespace-nowrap max-md:grow max-md:py-2 -outline-offset-2 after:absolute after:right-4 after:bottom-0 after:left-0 after:h-[3px] hover:text-foreground md:min-w-40',
              active ? 'text-foreground after:bg-primary' : 'text-muted-foreground',
            )}
          >
            <span className="tabular font-title text-section font-semibold text-foreground">
              {counts ? (
                counts[status]?.toLocaleString('en-US')
              ) : (
                <Skeleton className="inline-block h-5 w-8" />
              )}
            </span>
            <span className={active ? 'font-semibold' : undefined}>{label}</span>
          </button>
        )
      })}
    </div>
  )
}
