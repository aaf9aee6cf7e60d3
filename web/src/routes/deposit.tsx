import { BeingBuilt } from '@/components/being-built'

export default function DepositPage() {
  return (
    <BeingBuilt
      title="Deposit"
      purpose="Pay for a package, then send us the proof."
      shows="It will show where to pay and take your deposit request."
    />
  )
}
