import type { TablePage } from '@/components/data-table/types'
import type { ListRequest } from '@/components/data-table/use-admin-list'
import type { Decimal } from '@/lib/money'
import { administratorClient, callFunction } from '@/lib/supabase'

/** A row of the journal. Money is decimal text. */
export interface AdminTransaction {
  id: string
  profile_id: string
  username: string | null
  email: string | null
  amount: Decimal
  transaction_type: 'deposit' | 'withdrawal' | 'bonus'
  status: 'completed' | 'pending' | 'failed'
  reference_id: string | null
  created_at: string
  /** Taken back by the member, not rejected. */
  cancelled: boolean
}

export interface TransactionCards {
  total: number
  completed: number
  /** Absolute amounts of completed rows, added up. */
  total_volume: Decimal
}

export type TransactionPage = TablePage<AdminTransaction> & { cards: TransactionCards }

type Answer = Omit<TransactionPage, 'items'> & { transactions: AdminTransaction[] }

export async function listTransactions(request: ListRequest): Promise<TransactionPage> {
  const client = await administratorClient()
  const { transactions, ...rest } = await callFunction<Answer>(client, 'admin-get-transactions', request)
  return { ...rest, items: transactions }
}
