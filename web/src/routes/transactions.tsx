import { BeingBuilt } from '@/components/being-built'

export default function TransactionsPage() {
  return (
    <BeingBuilt
      title="Transactions"
      purpose="Every movement of your money, newest first."
      shows="It will list deposits, withdrawals and bonuses."
    />
  )
}
