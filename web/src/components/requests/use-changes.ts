import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { TableController } from '@/components/data-table/table-state'
import { requestChangesQuery, type RequestCounts, type RequestNoun } from '@/lib/request-changes'
import type { MoneyRequest, RequestPage } from './request'

/** Requests are never deleted, so that what is more than before is new. */
function newRows(status: string | undefined, before: RequestCounts, now: RequestCounts): number {
  const all = ({ pending, approved, rejected }: RequestCounts) => pending + approved + rejected
  const more =
    status === 'pending' || status === 'all'
      ? all(now) - all(before)
      : (now[status as keyof RequestCounts] ?? 0) - (before[status as keyof RequestCounts] ?? 0)
  return Math.max(0, more)
}

/** A page as it stands, with what others decided meanwhile on its rows, and how many rows there are that it lacks. */
export function useChanges<Row extends MoneyRequest>(
  noun: RequestNoun,
  page: RequestPage<Row> | undefined,
  table: TableController,
) {
  const open = useMemo(
    () =>
      (page?.items ?? [])
        .filter((row) => row.status === 'pending' || (row.status === 'approved' && !row.payout_reference))
        .map((row) => row.id),
    [page],
  )
  const { data: changes } = useQuery(requestChangesQuery(noun, open, page?.counts))
  const items = useMemo(() => {
    const decided = new Map(changes?.decided.map((change) => [change.id, change]))
    return page?.items.map((row) => {
      const change = decided.get(row.id)
      return change ? { ...row, ...change, decidedMeanwhile: row.status === 'pending' } : row
    })
  }, [page, changes])
  const status = table.state.filters.status
  const counted = page && changes && table.state.search === ''
  return { items, fresh: counted ? newRows(status, page.counts, changes.counts) : 0, counts: changes?.counts }
}
