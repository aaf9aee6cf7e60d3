import { AdminTransactions } from '@/features/transactions/admin-transactions'

export default function AdminTransactionsPage() {
  return <AdminTransactions />
}
