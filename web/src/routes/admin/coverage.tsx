import { BeingBuilt } from '@/components/being-built'

export default function AdminCoveragePage() {
  return (
    <BeingBuilt
      title="Coverage"
      purpose="Whether the books cover what members can withdraw."
      shows="It will compare cash-in with what can be withdrawn."
    />
  )
}
