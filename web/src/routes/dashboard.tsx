import { BeingBuilt } from '@/components/being-built'

export default function DashboardPage() {
  return (
    <BeingBuilt
      title="Your Command Center"
      purpose="Your balance, your team and what each has earned."
      shows="It will show your withdrawable balance, your verification and your bonuses."
    />
  )
}
