import { SuperAdminOnly } from '@/components/super-admin-only'
import { ReadinessPage } from '@/features/operator/readiness-page'

export default function AdminReadinessPage() {
  return (
    <SuperAdminOnly title="Readiness">
      <ReadinessPage />
    </SuperAdminOnly>
  )
}
