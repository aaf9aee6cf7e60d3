import { queryOptions } from '@tanstack/react-query'
import { adminKey, type Coverage } from '@/lib/admin-overview'
import { unwrap } from '@/lib/errors'
import type { Decimal } from '@/lib/money'
import { administratorClient } from '@/lib/supabase'

export interface CoverageNow extends Coverage {
  as_of: string
  /** What the ratio would be without the deposits of the last days. */
  rests_on: { days: number; deposits: Decimal; ratio_without: Decimal | null }[]
}

/** Coverage at the end of a UTC day. */
export interface CoverageDay extends Coverage {
  day: string
  /** When it was computed: minutes after the day, later when the worker was away. */
  taken_at: string
}

export const coverageQuery = queryOptions({
  queryKey: [adminKey, 'coverage'],
  queryFn: async () =>
    unwrap(await (await administratorClient()).rpc('get_coverage')) as unknown as CoverageNow,
  meta: { realm: 'administrator' },
})

export function coverageHistoryQuery(days: number) {
  return queryOptions({
    queryKey: [adminKey, 'coverage', days],
    queryFn: async () => {
      const client = await administratorClient()
      return unwrap(await client.rpc('get_coverage_history', { p_days: days })) as unknown as CoverageDay[]
    },
    meta: { realm: 'administrator' },
  })
}
