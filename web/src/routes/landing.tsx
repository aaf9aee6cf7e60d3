import { BeingBuilt } from '@/components/being-built'

export default function LandingPage() {
  return <BeingBuilt title="Harborline" purpose="x" shows="x" />
}
