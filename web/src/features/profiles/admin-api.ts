import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import type { TablePage } from '@/components/data-table/types'
import type { ListRequest } from '@/components/data-table/use-admin-list'
import { adminKey } from '@/lib/admin-overview'
import { unwrap } from '@/lib/errors'
import type { Decimal } from '@/lib/money'
import { administratorClient, callFunction } from '@/lib/supabase'

export type AccountStatus = 'active' | 'pending' | 'suspended' | 'disabled'

/** A member as the administrators' list shows it. Money is decimal text. */
export interface AdminMember {
  id: string
  user_id: string
  username: string
  display_name: string | null
  email: string | null
  trc20_wallet_address: string | null
  package_value: Decimal
  package_approved: boolean
  cash_in_amount: Decimal
  available_balance: Decimal
  account_status: AccountStatus
  account_verified: boolean
  admin_notes: string | null
  hold_until: string | null
  created_at: string
}

interface MemberStatistics {
  total_bonuses: Decimal
  total_deposits: Decimal
  total_withdrawals: Decimal
  direct_referrals: number
  /** Deposits less withdrawals plus bonuses. */
  net_balance: Decimal
}

export interface MemberDetails extends AdminMember {
  sponsor: { id: string; username: string } | null
  wallet_checksum_ok: boolean | null
  statistics: MemberStatistics
}

export interface MemberCards {
  total_users: number
  active_users: number
  verified_users: number
  total_investment: Decimal
}

export type MemberPage = TablePage<AdminMember> & { cards: MemberCards }

export async function listMembers(request: ListRequest): Promise<MemberPage> {
  const client = await administratorClient()
  return unwrap(await client.rpc('list_members', { p_filters: request })) as unknown as MemberPage
}

export function memberDetailsQuery(profileId: string) {
  return queryOptions({
    queryKey: [adminKey, 'member', profileId],
    queryFn: async () => {
      const client = await administratorClient()
      return unwrap(await client.rpc('get_member', { p_profile_id: profileId })) as unknown as MemberDetails
    },
    meta: { realm: 'administrator' },
  })
}

export interface MemberChange extends Record<string, unknown> {
  profileId: string
  account_status?: AccountStatus
  admin_notes?: string
  reason?: string
}

export function useUpdateMember() {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: async (change: MemberChange) =>
      callFunction(await administratorClient(), 'admin-update-member', change),
    onSuccess: () => queries.invalidateQueries({ queryKey: [adminKey] }),
    meta: { realm: 'administrator' },
  })
}

/** For a member who lost every second device; what they are signed in with ends too. */
export function useRemoveFactors() {
  return useMutation({
    mutationFn: async (removal: { profileId: string; reason: string }) =>
      callFunction(await administratorClient(), 'admin-remove-factors', removal),
    meta: { realm: 'administrator' },
  })
}
