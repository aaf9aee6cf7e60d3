import { queryOptions } from '@tanstack/react-query'
import type { ChartRange } from '@/components/chart-card'
import { adminKey } from '@/lib/admin-overview'
import type { Bucket, Days } from '@/lib/chart-period'
import { unwrap } from '@/lib/errors'
import type { Decimal } from '@/lib/money'
import { administratorClient } from '@/lib/supabase'

/** Totals of the whole installation. Money is decimal text: cast on the way, so no float ever holds it. */
export interface AdminStats {
  total_users: number
  active_users: number
  inactive_users: number
  pending_deposits: number
  pending_withdrawals: number
  total_package_investment: Decimal
  total_deposits: Decimal
  total_withdrawals: Decimal
  total_bonuses_paid: Decimal
}

const columns =
  'total_users,active_users,inactive_users,pending_deposits,pending_withdrawals,total_package_investment::text,total_deposits::text,total_withdrawals::text,total_bonuses_paid::text'

export const adminStatsQuery = queryOptions({
  queryKey: [adminKey, 'stats'],
  queryFn: async () => {
    const client = await administratorClient()
    const rows = unwrap(
      await client.rpc('get_admin_dashboard_stats').select(columns),
    ) as unknown as AdminStats[]
    const [stats] = rows
    if (!stats) throw new Error('The server sent no statistics.')
    return stats
  },
  refetchInterval: 60_000,
  meta: { realm: 'administrator', errorToast: 'Failed to load dashboard statistics' },
})

/** Approved requests of a day, week or month, by the day on which they were made. */
export interface FlowPoint {
  start: string
  deposits: Decimal
  withdrawals: Decimal
}

export interface Flows extends Days {
  bucket: Bucket
  totals: { deposits: Decimal; withdrawals: Decimal; net: Decimal }
  /** The period to compare with; null where money first moved after it had begun. */
  previous: (Days & { net: Decimal }) | null
  points: FlowPoint[]
}

export function flowsQuery(range: ChartRange) {
  return queryOptions({
    queryKey: [adminKey, 'flows', range],
    queryFn: async () => {
      const client = await administratorClient()
      return unwrap(await client.rpc('get_flows', { p_range: range })) as unknown as Flows
    },
    refetchInterval: 60_000,
    meta: { realm: 'administrator' },
  })
}
