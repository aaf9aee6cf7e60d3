import { queryOptions, useMutation, useQueryClient, type QueryClient } from '@tanstack/react-query'
import type { DepositRest } from './deposit-rest'
import { errorText, hasCode, unwrap } from './errors'
import type { Decimal } from './money'
import { memberClient } from './supabase'
import { toasts } from './toast-queue'

export type VerificationStep = 'profile' | 'wallet' | 'package' | 'complete'

/** What the account still lacks, worked out by the server. Money is decimal text. */
export interface Verification {
  hasProfile: boolean
  hasWallet: boolean
  hasVerifiedAccount: boolean
  canDeposit: boolean
  canWithdraw: boolean
  cashInAmount: Decimal
  packageValue: Decimal
  sufficientCashIn: boolean
  /** The largest amount that completes the package; null when nothing is missing. */
  missingCashIn: Decimal | null
  verificationStep: VerificationStep
  stepMessage: string
}

export interface Balance {
  /** Bonuses less approved withdrawals, never below zero. */
  available: Decimal
  /** Asked for and not yet decided. */
  reserved: Decimal
  /** What a new request may take: available less reserved. */
  requestable: Decimal
  approved_withdrawals: Decimal
  /** Until when withdrawals are not approved, after a security change; null without one. */
  hold_until: string | null
}

export interface BonusSum {
  amount: Decimal
  reentry: Decimal
  count: number
}

type HistorySource = 'bonus' | 'deposit' | 'withdrawal' | 'transaction'

/** One movement of the member's money, whichever table it comes from. */
export interface HistoryItem {
  id: string
  user_id: string
  /** Signed decimal text. */
  amount: Decimal
  transaction_type: string
  status: string
  created_at: string
  /** When it was credited or decided; of what waits, when it was asked for. Rows stand in this order. */
  effective_at: string
  source: HistorySource
  counterparty: string | null
  pair_number: number | null
  pair_names: [string | null, string | null] | null
  rate: Decimal | null
  volume: Decimal | null
  /** What the bonus of this row is now; a row is what it was credited, raised or lowered by. */
  bonus_amount: Decimal | null
  reentry: Decimal | null
  reference: string | null
  wallet_address: string | null
  admin_notes: string | null
  decided_at: string | null
  payout_reference: string | null
  can_cancel: boolean
  /** Taken back by the member, not refused. */
  cancelled: boolean
  /** Whether it changed the withdrawable balance: not a deposit, and nothing that waits or was refused. */
  in_balance: boolean
  /** Of an approved deposit, what arrived, where the approval said so. */
  received_amount: Decimal | null
  /** Of a pending deposit, what is missing of it. */
  rest: DepositRest | null
  /** Of the rests of a deposit, in the order in which they were asked for; null of anything else. */
  further_references: string[] | null
}

/** A request of the member's that nobody has decided yet. */
export interface PendingRequest {
  source: 'deposit' | 'withdrawal'
  id: string
  amount: Decimal
  created_at: string
  rest: DepositRest | null
}

export interface MemberProfile {
  /** Also the referral code. */
  id: string
  user_id: string
  username: string | null
  display_name: string | null
  email: string | null
  trc20_wallet_address: string | null
  /** null without an address. */
  wallet_checksum_ok: boolean | null
  account_status: string
  account_verified: boolean
  package_value: Decimal
  package_label: string | null
  package_rate: Decimal
  cash_in_amount: Decimal
  created_at: string
  sponsor: { id: string; username: string | null; display_name: string | null } | null
}

export interface Member {
  as_of: string
  profile: MemberProfile
  verification: Verification
  balance: Balance
  bonuses: { referral: BonusSum; pairing: BonusSum; override: BonusSum; total: Decimal; reentry: Decimal }
  /** Percent with two decimals; negative until earnings exceed the package. */
  roi: Decimal
  net_profit: Decimal
  team: {
    direct_referrals: number
    funded_referrals: number
    active_pairs: number
    paying_pairs: number
    package_rate: Decimal
    total_team_volume: Decimal
  }
  latest: HistoryItem[]
  /** The oldest first. */
  pending: PendingRequest[]
  unread_notifications: number
  last_sync_at: string | null
}

/** Every query about the signed-in member begins with this, so that an act can refresh them together. */
export const memberKey = 'member'

/** The member's own account: what the dashboard opens with, and what other screens repeat of it. */
export const memberQuery = queryOptions({
  queryKey: [memberKey, 'account'],
  queryFn: async () => unwrap(await (await memberClient()).rpc('get_member_dashboard')) as unknown as Member,
})

export function refreshMember(queries: QueryClient): Promise<void> {
  return queries.invalidateQueries({ queryKey: [memberKey] })
}

export function useRefreshMember(): () => Promise<void> {
  const queries = useQueryClient()
  return () => refreshMember(queries)
}

/**
 * Takes back a deposit or withdrawal of one's own that nobody has decided yet. A decision made meanwhile is said in
 * a toast: what the page showed of the request is gone by then.
 */
export function useCancelRequest() {
  const refresh = useRefreshMember()
  return useMutation({
    mutationFn: async (id: string) => {
      unwrap(await (await memberClient()).rpc('cancel_request', { p_id: id }))
    },
    onError: (error) => {
      if (hasCode(error, 'already_decided')) toasts.error(errorText(error, ''), { money: true })
    },
    onSettled: () => void refresh(),
  })
}
