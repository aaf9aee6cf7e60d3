import { BeingBuilt } from '@/components/being-built'

export default function IncomeDisclosurePage() {
  return (
    <BeingBuilt
      title="Income disclosure"
      purpose="What members received, all of them counted."
      shows="It will be computed from the books."
    />
  )
}
