import { BeingBuilt } from '@/components/being-built'

export default function RiskPage() {
  return <BeingBuilt title="Risk" purpose="What you can lose, and why." shows="It will show the text." />
}
