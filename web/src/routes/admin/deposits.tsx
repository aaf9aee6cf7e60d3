import { AdminDeposits } from '@/features/deposits/admin-deposits'

export default function AdminDepositsPage() {
  return <AdminDeposits />
}
