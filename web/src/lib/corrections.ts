import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { adminKey } from './admin-overview'
import { unwrap } from './errors'
import type { Decimal } from './money'
import { administratorClient, callFunction } from './supabase'

export type CorrectionKind = 'void_deposit' | 'void_withdrawal' | 'set_package' | 'repair_rows'

/** What a confirmation does, in the words of both who proposes and who confirms. */
export const consequences: Record<CorrectionKind, string> = {
  void_deposit: 'The deposit then no longer counts: cash-in, package and bonuses are worked out anew.',
  void_withdrawal: 'The withdrawal then no longer counts: its amount is available again.',
  set_package: 'The package is then set without cash-in, and bonuses are worked out anew.',
  repair_rows: 'The rows are then again what the audit log, the requests and the bonuses say. Balances stay.',
}

export type RowValue = string | number | boolean | null

/** A row that a repair changes: what differs, before and after; whole where it is added (no old) or taken out (no new). */
export interface RestoredRow {
  table: string
  id: string | null
  old: Record<string, RowValue> | null
  new: Record<string, RowValue> | null
}

/** What one administrator proposed and another confirms. Money is decimal text. */
export interface Correction {
  id: string
  kind: CorrectionKind
  /** The deposit, the withdrawal, or the member's profile. */
  target_id: string
  profile_id: string
  user_id: string
  username: string
  display_name: string | null
  /** Of the deposit or withdrawal; null for a package. */
  amount: Decimal | null
  /** A deposit's reference, a withdrawal's address. */
  reference: string | null
  requested_at: string | null
  /** The package to be set. */
  value: Decimal | null
  /** The member's package now. */
  package_value: Decimal
  /** Package and cash-in when it was proposed; null where they do not matter. */
  based_on_package: Decimal | null
  based_on_cash_in: Decimal | null
  /** Of a repair of rows; otherwise null. */
  restores: RestoredRow[] | null
  reason: string
  proposed_by_name: string
  proposed_at: string
  confirmed_by_name: string | null
  confirmed_at: string | null
  /** Why this administrator may not confirm it; null when they may, and once it is confirmed. */
  refusal: string | null
}

export interface Corrections {
  waiting: Correction[]
  confirmed: Correction[]
}

/** Also feeds the count beside Corrections in the navigation, and tells what is proposed already. */
export const correctionsQuery = queryOptions({
  queryKey: [adminKey, 'corrections'],
  queryFn: async () =>
    unwrap(await (await administratorClient()).rpc('list_corrections')) as unknown as Corrections,
  meta: { realm: 'administrator' },
  refetchInterval: 60_000,
})

/** How many of the waiting ones this administrator may confirm. */
export function confirmableCount(corrections: Corrections | undefined): number {
  return corrections?.waiting.filter(({ refusal }) => refusal === null).length ?? 0
}

interface Proposal extends Record<string, unknown> {
  kind: CorrectionKind
  targetId: string
  /** The package of `set_package`. */
  value?: Decimal
  reason: string
}

export function useProposeCorrection() {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: async (proposal: Proposal) =>
      callFunction(await administratorClient(), 'admin-propose-correction', proposal),
    onSuccess: () => queries.invalidateQueries({ queryKey: [adminKey] }),
    meta: { realm: 'administrator' },
  })
}
