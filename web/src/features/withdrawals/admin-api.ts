import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { ListRequest } from '@/components/data-table/use-admin-list'
import type { DecisionAction, MoneyRequest, RequestPage } from '@/components/requests/request'
import { adminKey } from '@/lib/admin-overview'
import type { Decimal } from '@/lib/money'
import { administratorClient, callFunction } from '@/lib/supabase'

/** A withdrawal request with what an administrator weighs. Money is decimal text. */
export interface AdminWithdrawal extends MoneyRequest {
  /** Frozen when the request was made; the member's present one may differ. */
  wallet_address: string
  available_after: Decimal
  payout_reference: string | null
  payout_at: string | null
}

/** How a withdrawal was paid. */
export interface Payout {
  reference: string
  /** The administrator knows that the reference is of a transfer that paid others too. */
  shared: boolean
  /** Why it was paid in spite of what warned of it; administrators alone read it. */
  reason: string
}

export async function listWithdrawals(request: ListRequest): Promise<RequestPage<AdminWithdrawal>> {
  return callFunction(await administratorClient(), 'admin-list-withdrawals', request)
}

/** Decides once; asked again by the same administrator it answers the first result. How it was paid is kept once. */
export async function decideWithdrawal(
  id: string,
  action: DecisionAction,
  reason: string,
  { reference, shared, reason: payoutReason }: Payout,
): Promise<void> {
  const payout = reference ? { payoutReference: reference, sharedPayout: shared, payoutReason } : {}
  const body = { withdrawalId: id, action, reason, ...payout }
  await callFunction(await administratorClient(), 'admin-approve-withdrawal', body)
}

/** Tells how an approved withdrawal was paid: the door of the approval takes it later too, from whoever may decide. */
export function useAddPayout() {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: ({ id, payout }: { id: string; payout: Payout }) =>
      decideWithdrawal(id, 'approve', '', payout),
    // Also when the response was lost: what is shown is read again.
    onSettled: () => queries.invalidateQueries({ queryKey: [adminKey] }),
    meta: { realm: 'administrator' },
  })
}
