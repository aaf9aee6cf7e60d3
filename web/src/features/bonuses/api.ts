import { queryOptions } from '@tanstack/react-query'
import type { ChartRange } from '@/components/chart-card'
import { unwrap } from '@/lib/errors'
import { memberKey } from '@/lib/member'
import type { Decimal } from '@/lib/money'
import { memberClient } from '@/lib/supabase'

export interface EarningsPoint {
  /** First day of the bar (UTC). */
  start: string
  referral: Decimal
  pairing: Decimal
  override: Decimal
}

export interface Earnings {
  from: string
  to: string
  bucket: 'day' | 'week' | 'month'
  totals: { referral: Decimal; pairing: Decimal; override: Decimal; total: Decimal }
  /** The period before, up to the same day of it; null where there is none to compare with. */
  previous: { from: string; to: string; total: Decimal } | null
  points: EarningsPoint[]
}

export function earningsQuery(range: ChartRange) {
  return queryOptions({
    queryKey: [memberKey, 'earnings', range],
    queryFn: async () =>
      unwrap(await (await memberClient()).rpc('get_earnings', { p_range: range })) as unknown as Earnings,
  })
}
