import { ArrowDown } from 'lucide-react'
import type { TableController } from '@/components/data-table/table-state'
import { Button } from '@/components/ui/button'
import type { RequestCounts, RequestNoun } from '@/lib/request-changes'

/** The page on which the newest rows stand; null when the list is not in the order of time. */
function newestPage({ state }: TableController, counts: RequestCounts): number | null {
  if (state.sort === 'created_at.desc') return 1
  if (state.sort !== 'created_at.asc') return null
  const { status = 'all' } = state.filters
  const total =
    status === 'all'
      ? counts.pending + counts.approved + counts.rejected
      : counts[status as keyof RequestCounts]
  return Math.max(1, Math.ceil((total ?? 0) / state.pageSize))
}

interface FreshRowsProps {
  noun: RequestNoun
  fresh: number
  counts: RequestCounts | undefined
  table: TableController
  onShow: () => void
}

/** Says that there are rows that the list does not show yet; nothing moves until it is pressed. */
export function FreshRows({ noun, fresh, counts, table, onShow }: FreshRowsProps) {
  function show() {
    const page = counts ? newestPage(table, counts) : null
    if (page !== null && page !== table.state.page) table.change({ page })
    onShow()
  }
  return (
    <div role="status">
      {fresh > 0 ? (
        <Button variant="outline" size="compact" onClick={show}>
          <ArrowDown aria-hidden />
          {fresh.toLocaleString('en-US')} new {fresh === 1 ? noun : `${noun}s`}: show
        </Button>
      ) : null}
    </div>
  )
}
