import { BeingBuilt } from '@/components/being-built'

export default function AdminTransactionsPage() {
  return (
    <BeingBuilt
      title="Transactions Management"
      purpose="Every movement of money."
      shows="It will list the journal."
    />
  )
}
