import { infiniteQueryOptions } from '@tanstack/react-query'
import { unwrap } from '@/lib/errors'
import { memberKey, type HistoryItem } from '@/lib/member'
import { memberClient } from '@/lib/supabase'

/** What of the history is asked for; empty texts ask for everything. Days are UTC days, both included. */
export interface HistoryFilters {
  type: string
  status: string
  from: string
  to: string
}

export interface HistoryPage {
  items: HistoryItem[]
  /** Where the following page begins; null at the end. */
  next: string | null
}

async function fetchHistory(
  filters: HistoryFilters,
  before: string | null,
  limit: number,
): Promise<HistoryPage> {
  const client = await memberClient()
  return unwrap(
    await client.rpc('get_transaction_history', {
      p_type: filters.type || undefined,
      p_status: filters.status || undefined,
      p_from: filters.from || undefined,
      p_to: filters.to || undefined,
      p_before: before ?? undefined,
      p_limit: limit,
    }),
  ) as unknown as HistoryPage
}

export function historyQuery(filters: HistoryFilters) {
  return infiniteQueryOptions({
    queryKey: [memberKey, 'history', filters],
    queryFn: ({ pageParam }) => fetchHistory(filters, pageParam, 25),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.next,
    meta: { errorToast: 'Failed to load transactions' },
  })
}

/** Every row the filters leave, page by page, for a file. */
export async function collectHistory(
  filters: HistoryFilters,
  onProgress: (rows: number) => void,
): Promise<HistoryItem[]> {
  const items: HistoryItem[] = []
  let before: string | null = null
  do {
    const page: HistoryPage = await fetchHistory(filters, before, 100)
    items.push(...page.items)
    onProgress(items.length)
    before = page.next
  } while (before !== null)
  return items
}
