import { BeingBuilt } from '@/components/being-built'

export default function AdminReadinessPage() {
  return (
    <BeingBuilt
      title="Readiness"
      purpose="What is missing before real money is accepted."
      shows="It will list what is set and what is not."
    />
  )
}
