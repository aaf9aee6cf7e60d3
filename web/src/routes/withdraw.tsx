import { BeingBuilt } from '@/components/being-built'

export default function WithdrawPage() {
  return (
    <BeingBuilt
      title="Withdraw"
      purpose="Ask for what you earned."
      shows="It will show what you can request and take your withdrawal request."
    />
  )
}
