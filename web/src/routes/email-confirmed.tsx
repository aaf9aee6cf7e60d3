import { BeingBuilt } from '@/components/being-built'

export default function EmailConfirmedPage() {
  return <BeingBuilt title="Email confirmed" purpose="x" shows="x" />
}
