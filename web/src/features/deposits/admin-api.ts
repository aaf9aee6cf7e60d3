import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import type { TableState } from '@/components/data-table/table-state'
import type { TablePage } from '@/components/data-table/types'
import type { DecisionAction, RequestFlag } from '@/components/decision-dialog'
import type { RequestCounts } from '@/components/status-counts'
import { adminKey } from '@/lib/admin-overview'
import type { Decimal } from '@/lib/money'
import { administratorClient, callFunction } from '@/lib/supabase'

/** A deposit request with what an administrator weighs. Money is decimal text. */
export interface AdminDeposit {
  id: string
  user_id: string
  amount: Decimal
  reference_number: string
  receipt_url: string
  status: 'pending' | 'approved' | 'rejected'
  admin_notes: string | null
  created_at: string
  decided_at: string | null
  decided_by_name: string | null
  username: string
  display_name: string | null
  email: string | null
  available_balance: Decimal
  cash_in_amount: Decimal
  package_value: Decimal
  total_deposits: Decimal
  trc20_wallet_address: string | null
  package_before: Decimal
  package_after: Decimal
  cash_in_before: Decimal
  cash_in_after: Decimal
  flags: RequestFlag[]
}

type DepositsPage = TablePage<AdminDeposit> & { counts: RequestCounts }

export function adminDepositsQuery({ page, pageSize, search, sort, filters }: TableState) {
  const body = { page, pageSize, search, sort, status: filters.status ?? 'pending' }
  return queryOptions({
    queryKey: [adminKey, 'deposits', body],
    queryFn: async () => callFunction<DepositsPage>(await administratorClient(), 'admin-list-deposits', body),
    placeholderData: keepPreviousData,
    meta: { realm: 'administrator' },
  })
}

/** Decides once; asked again by the same administrator it answers the first result. */
export async function decideDeposit(id: string, action: DecisionAction, reason: string): Promise<void> {
  await callFunction(await administratorClient(), 'admin-approve-deposit', { depositId: id, action, reason })
}

/** A link that shows the receipt for 60 seconds. */
export function receiptQuery(receiptUrl: string) {
  return queryOptions({
    queryKey: [adminKey, 'receipt', receiptUrl],
    queryFn: async () => {
      const body = { receiptUrl }
      return (
        await callFunction<{ signedUrl: string }>(await administratorClient(), 'admin-get-receipt', body)
      ).signedUrl
    },
    staleTime: 50_000,
    gcTime: 55_000,
    meta: { realm: 'administrator' },
  })
}
