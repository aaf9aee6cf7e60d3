import { BeingBuilt } from '@/components/being-built'

export default function PayoutsPage() {
  return (
    <BeingBuilt
      title="Where payouts come from"
      purpose="The whole split of a package."
      shows="It will show the split."
    />
  )
}
