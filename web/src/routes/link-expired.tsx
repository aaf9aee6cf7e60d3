import { BeingBuilt } from '@/components/being-built'

export default function LinkExpiredPage() {
  return <BeingBuilt title="Link expired" purpose="x" shows="x" />
}
