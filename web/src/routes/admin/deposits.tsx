import { BeingBuilt } from '@/components/being-built'

export default function AdminDepositsPage() {
  return (
    <BeingBuilt
      title="Deposits Management"
      purpose="Requests waiting for a decision, oldest first."
      shows="It will list the deposit requests."
    />
  )
}
