import { queryOptions } from '@tanstack/react-query'
import type { ListRequest } from '@/components/data-table/use-admin-list'
import type { DecisionAction, MoneyRequest, RequestPage } from '@/components/requests/request'
import { adminKey } from '@/lib/admin-overview'
import type { AskedRest } from '@/lib/deposit-rest'
import type { Decimal } from '@/lib/money'
import { administratorClient, callFunction } from '@/lib/supabase'

/** A deposit request with what an administrator weighs. Money is decimal text. */
export interface AdminDeposit extends MoneyRequest {
  reference_number: string
  receipt_url: string
  /** Of its rests, in the order in which they were asked for. */
  further_references: string[]
  received_amount: Decimal | null
  rest: AskedRest | null
  /** By how much what arrived may differ from a pending one that is approved. */
  tolerance: Decimal | null
  total_deposits: Decimal
  package_before: Decimal
  package_after: Decimal
  cash_in_before: Decimal
  cash_in_after: Decimal
  /** Why a pending one cannot be approved; null when it can. */
  refusal: string | null
}

export async function listDeposits(request: ListRequest): Promise<RequestPage<AdminDeposit>> {
  return callFunction(await administratorClient(), 'admin-list-deposits', request)
}

interface Decision {
  action: DecisionAction
  /** Of a rejection. */
  reason: string
  /** What arrived, of any other; null where nothing is said about it. */
  received: Decimal | null
}

/** Decides, or asks for the rest, once; asked again by the same administrator it answers the first result. */
export async function decideDeposit(id: string, { action, reason, received }: Decision): Promise<void> {
  await callFunction(await administratorClient(), 'admin-approve-deposit', {
    depositId: id,
    action,
    ...(action === 'reject' ? { reason } : { receivedAmount: received ?? undefined }),
  })
}

async function signReceipt(receiptUrl: string): Promise<string> {
  const client = await administratorClient()
  const { signedUrl } = await callFunction<{ signedUrl: string }>(client, 'admin-get-receipt', { receiptUrl })
  return signedUrl
}

/** A link that shows the receipt for 60 seconds. */
export function receiptQuery(receiptUrl: string) {
  return queryOptions({
    queryKey: [adminKey, 'receipt', receiptUrl],
    queryFn: () => signReceipt(receiptUrl),
    staleTime: 50_000,
    gcTime: 55_000,
    meta: { realm: 'administrator' },
  })
}

/** The receipt itself, fetched while its link is fresh: each try has a link of its own. */
export function receiptBytesQuery(receiptUrl: string) {
  return queryOptions({
    queryKey: [adminKey, 'receipt-bytes', receiptUrl],
    queryFn: async () => {
      const answer = await fetch(await signReceipt(receiptUrl))
      if (!answer.ok) throw new Error(`A receipt was answered with ${answer.status}`)
      return answer.arrayBuffer()
    },
    staleTime: Infinity,
    gcTime: 55_000,
    meta: { realm: 'administrator' },
  })
}
