import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import type { ChartRange } from '@/components/chart-card'
import type { Bucket } from '@/lib/chart-period'
import { unwrap } from '@/lib/errors'
import { memberKey } from '@/lib/member'
import type { Decimal } from '@/lib/money'
import { memberClient } from '@/lib/supabase'

export type PairState = 'paying' | 'blocked' | 'open' | 'no_rate'

export interface PairChild {
  id: string
  username: string | null
  display_name: string | null
  package_value: Decimal
  funded: boolean
}

export interface Pairing {
  pair_number: number
  left_child: PairChild
  right_child: PairChild | null
  /** null while the pair has one child only. */
  pair_volume: Decimal | null
  rate: Decimal
  user_bonus: Decimal
  state: PairState
  state_text: string
}

export interface PairingPage {
  items: Pairing[]
  pairs: number
  next: number | null
  /** Of the paying pairs, all of them. */
  totals: { total_volume: Decimal; total_user_bonus: Decimal; paying_pairs: number }
}

export const pairingsQuery = infiniteQueryOptions({
  queryKey: [memberKey, 'pairings'],
  queryFn: async ({ pageParam }) =>
    unwrap(
      await (await memberClient()).rpc('get_pairings', { p_after: pageParam, p_limit: 50 }),
    ) as unknown as PairingPage,
  initialPageParam: 0,
  getNextPageParam: (last) => last.next,
})

export interface NetworkSummary {
  member_count: number
  team_count: number
  total_packages: Decimal
  total_referral: Decimal
  total_pairing: Decimal
  total_override: Decimal
  total_user: Decimal
  total_company_profit: Decimal
  profit_percentage: Decimal
  as_of: string
}

export const networkQuery = queryOptions({
  queryKey: [memberKey, 'network'],
  queryFn: async () =>
    unwrap(await (await memberClient()).rpc('get_network_summary')) as unknown as NetworkSummary,
})

export interface TeamGrowth {
  from: string
  to: string
  bucket: Bucket
  points: { start: string; members: number; funded: number }[]
  /** Who came, and who was funded, in these days. */
  joined: { members: number; funded: number }
  /** The same of the period before, up to the same day of it; null where there is none to compare with. */
  previous: { from: string; to: string; members: number; funded: number } | null
}

export function growthQuery(range: ChartRange) {
  return queryOptions({
    queryKey: [memberKey, 'team-growth', range],
    queryFn: async () =>
      unwrap(
        await (await memberClient()).rpc('get_team_growth', { p_range: range }),
      ) as unknown as TeamGrowth,
  })
}

export interface TreeNode {
  id: string
  username: string | null
  display_name: string | null
  /** From 1, among the sponsor's direct referrals; null at the top. */
  position: number | null
  pair_number: number | null
  package_value: Decimal
  funded: boolean
  direct_referrals: number
  created_at: string
}

export interface TreeChild extends TreeNode {
  pair_state: PairState
  blocked_by: string | null
}

/** The member at the top of a page, with everybody below as they are now. */
interface TreeRoot extends TreeNode {
  team_count: number
  team_packages: Decimal
}

export interface PathStep {
  id: string
  username: string | null
  display_name: string | null
}

export interface TreePage {
  root: TreeRoot
  /** From the member down to the root. */
  path: PathStep[]
  items: TreeChild[]
  total: number
  /** The position after which the next page begins. */
  next: number | null
}

/** Children of one page; the server always sends whole pairs. */
export const treePageSize = 50

/** One member and a page of the direct referrals after a position. null is the signed-in member. */
export function treeQuery(root: string | null, after: number) {
  return queryOptions({
    queryKey: [memberKey, 'tree', root, after],
    queryFn: async () =>
      unwrap(
        await (
          await memberClient()
        ).rpc('get_team_tree', { p_root: root ?? undefined, p_after: after, p_limit: treePageSize }),
      ) as unknown as TreePage,
  })
}

interface FoundMember {
  id: string
  username: string
  display_name: string
}

/** The longest text that is looked for. */
export const longestSearch = 80

/** The first ten people in the member's own team whose username or name holds the text. */
export function teamSearchQuery(text: string) {
  return queryOptions({
    queryKey: [memberKey, 'team-search', text],
    queryFn: async () =>
      unwrap(await (await memberClient()).rpc('search_team', { p_search: text })) as unknown as FoundMember[],
    enabled: text.length >= 2,
  })
}
