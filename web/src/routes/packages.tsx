import { BeingBuilt } from '@/components/being-built'

export default function PackagesPage() {
  return (
    <BeingBuilt
      title="Packages"
      purpose="What each package costs and which rate it carries."
      shows="It will list the five packages and the plan in words."
    />
  )
}
