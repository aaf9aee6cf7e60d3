import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { unwrap } from '@/lib/errors'
import { memberKey, type HistoryItem } from '@/lib/member'
import type { Decimal } from '@/lib/money'
import { memberClient } from '@/lib/supabase'

/** What of the history is asked for; empty texts ask for everything. Days are UTC days, both included. */
export interface HistoryFilters {
  type: string
  status: string
  from: string
  to: string
}

export interface Movement extends HistoryItem {
  /** The withdrawable balance when it had taken effect; of what moved nothing, the balance of its time. */
  balance_after: Decimal
}

export interface HistoryPage {
  items: Movement[]
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
): Promise<Movement[]> {
  const items: Movement[] = []
  let before: string | null = null
  do {
    const page: HistoryPage = await fetchHistory(filters, before, 100)
    items.push(...page.items)
    onProgress(items.length)
    before = page.next
  } while (before !== null)
  return items
}

export interface StatementRow {
  id: string
  /** When it took effect. */
  at: string
  type: string
  amount: Decimal
  /** Deposits are listed without being part of the balance. */
  in_balance: boolean
  balance_after: Decimal
  counterparty: string | null
  pair_number: number | null
  /** A bonus that was credited before: this row changed it. */
  raised: boolean
  reference: string | null
  wallet_address: string | null
}

/** A month in UTC days. opening + in - out is closing. */
export interface Statement {
  from: string
  to: string
  running: boolean
  opening: Decimal
  in: {
    referral: Decimal
    pairing: Decimal
    override: Decimal
    /** Withdrawals that were not paid and are available again. */
    returned: Decimal
    total: Decimal
    rows: number
  }
  out: { withdrawals: Decimal; lowered: Decimal; total: Decimal; rows: number }
  closing: Decimal
  /** Approved in this month, less voided ones. */
  deposits: Decimal
  total: number
  rows: StatementRow[]
  next: number | null
}

/** Rows that one request brings at most. */
const statementPart = 500

/** `month` is "2026-03". */
async function fetchStatement(month: string, after: number, limit: number): Promise<Statement> {
  const client = await memberClient()
  return unwrap(
    await client.rpc('get_statement', { p_month: `${month}-01`, p_after: after, p_limit: limit }),
  ) as unknown as Statement
}

/** The figures of a month, without rows. */
export function monthQuery(month: string) {
  return queryOptions({
    queryKey: [memberKey, 'statement', month, 'figures'],
    queryFn: () => fetchStatement(month, 0, 0),
  })
}

/** A month's statement with its first rows. */
export function statementQuery(month: string) {
  return queryOptions({
    queryKey: [memberKey, 'statement', month],
    queryFn: () => fetchStatement(month, 0, statementPart),
    meta: { errorToast: 'Failed to load transactions' },
  })
}

/** Every row of a month, for a file. */
export async function collectStatement(
  month: string,
  onProgress: (rows: number) => void,
): Promise<StatementRow[]> {
  const rows: StatementRow[] = []
  let after: number | null = 0
  do {
    const part: Statement = await fetchStatement(month, after, statementPart)
    rows.push(...part.rows)
    onProgress(rows.length)
    after = part.next
  } while (after !== null)
  return rows
}
