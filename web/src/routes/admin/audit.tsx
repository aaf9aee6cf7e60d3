import { BeingBuilt } from '@/components/being-built'

export default function AdminAuditPage() {
  return <BeingBuilt title="Audit" purpose="Who did what, when." shows="It will list every recorded act." />
}
