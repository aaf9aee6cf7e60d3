import { queryOptions } from '@tanstack/react-query'
import type { Administrator } from './administrator-session'
import { unwrap } from './errors'
import type { Decimal } from './money'
import { administratorClient } from './supabase'

/** A request that waits for a decision, and when it should have one. */
export interface OldestPending {
  id: string
  amount: Decimal
  username: string
  created_at: string
  due_at: string
}

export interface RecentMovement {
  id: string
  type: 'deposit' | 'withdrawal'
  user_email: string | null
  username: string | null
  created_at: string
  amount: Decimal
  status: string
  /** Taken back by the member, not rejected. */
  cancelled: boolean
}

/** What came in and stayed against what can be withdrawn; `ratio` is in percent, null when nothing can be. */
export interface Coverage {
  approved_cash_in: Decimal
  approved_withdrawals: Decimal
  withdrawable: Decimal
  pending: Decimal
  ratio: Decimal | null
}

/** What is wrong and not acknowledged, and what it stops. */
export interface AlarmSummary {
  open: number
  /** Of those, failed checks of the ledger: they alone stop decisions. */
  stopping: number
  stops_everybody: boolean
  /** User ids. */
  stopped_members: string[]
  /** What is wrong, by rule of the ledger checks. */
  rules: Record<string, string>
}

/** What the administrators' side opens with. Money is decimal text. */
export interface AdminOverview {
  as_of: string
  admin: Pick<Administrator, 'id' | 'email' | 'full_name' | 'role'>
  oldest_pending: { deposit: OldestPending | null; withdrawal: OldestPending | null }
  pending: { deposits: number; withdrawals: number }
  net_cash_flow: Decimal
  recent: RecentMovement[]
  books: { ok: boolean | null; violations: number; checked_at: string | null }
  alarms: AlarmSummary
  coverage: Coverage | null
}

/** Every query of the administrators' side begins with this, so that a decision can refresh them together. */
export const adminKey = 'admin'

/** Also feeds the counts beside Deposits and Withdrawals in the navigation. */
export const adminOverviewQuery = queryOptions({
  queryKey: [adminKey, 'overview'],
  queryFn: async () =>
    unwrap(await (await administratorClient()).rpc('get_admin_overview')) as unknown as AdminOverview,
  meta: { realm: 'administrator' },
  refetchInterval: 60_000,
})
