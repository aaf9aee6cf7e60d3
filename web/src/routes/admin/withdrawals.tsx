import { AdminWithdrawals } from '@/features/withdrawals/admin-withdrawals'

export default function AdminWithdrawalsPage() {
  return <AdminWithdrawals />
}
