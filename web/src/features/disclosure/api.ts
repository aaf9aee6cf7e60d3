import { queryOptions } from '@tanstack/react-query'
import { unwrap } from '@/lib/errors'
import type { Decimal } from '@/lib/money'
import { memberClient } from '@/lib/supabase'

interface Share {
  members: number
  percent: Decimal | null
}

export interface PackageResults {
  value: Decimal
  label: string
  /** Groups under ten carry nothing else. */
  too_few: boolean
  members?: number
  received_nothing_percent?: Decimal | null
  below_paid_percent?: Decimal | null
  median_net?: Decimal
}

/** What all members received in a period, net of what they paid in it. Money and percentages are text. */
export interface Disclosure {
  from: string
  to: string
  computed_at: string
  members: number
  too_few: boolean
  received_nothing: Share
  below_paid: Share
  net: Record<'p25' | 'median' | 'p75' | 'p90' | 'p99', Decimal> | null
  packages: PackageResults[]
  credited: Decimal
  withdrawn: Decimal
}

async function fetchDisclosure(): Promise<Disclosure | null> {
  const client = await memberClient()
  return unwrap(await client.rpc('get_income_disclosure')) as Disclosure | null
}

export const disclosureQuery = queryOptions({
  queryKey: ['income-disclosure'],
  queryFn: fetchDisclosure,
  staleTime: 60 * 60_000,
})
