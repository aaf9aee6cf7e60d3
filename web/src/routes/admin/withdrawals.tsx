import { BeingBuilt } from '@/components/being-built'

export default function AdminWithdrawalsPage() {
  return (
    <BeingBuilt
      title="Withdrawals Management"
      purpose="Requests waiting for a decision, oldest first."
      shows="It will list the withdrawal requests."
    />
  )
}
