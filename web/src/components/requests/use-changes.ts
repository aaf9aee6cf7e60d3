import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { TableController } from '@/components/data-table/table-state'
import type { AskedRest } from '@/lib/deposit-rest'
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

/** Asked for as often, and with the same reference or still without one. */
function isSameRest(one: AskedRest | null, other: AskedRest | null = null): boolean {
  return one?.no === other?.no && one?.reference_number === other?.reference_number
}

/** A page as it stands, with what others decided or asked for meanwhile on its rows, and how many rows there are that it lacks. */
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
    const rests = changes?.rests && new Map(changes.rests.map(({ id, rest }) => [id, rest]))
    return page?.items.map((row) => {
      const change = decided.get(row.id)
      if (change) return { ...row, ...change, rest: null, decidedMeanwhile: row.status === 'pending' }
      const rest = rests?.get(row.id) ?? null
      return rests && row.status === 'pending' && !isSameRest(rest, row.rest) ? { ...row, rest } : row
    })
  }, [page, changes])
  const status = table.state.filters.status
  const counted = page && changes && table.state.search === ''
  return { items, fresh: counted ? newRows(status, page.counts, changes.counts) : 0, counts: changes?.counts }
}
