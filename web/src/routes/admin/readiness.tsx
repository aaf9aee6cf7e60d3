import { ReadinessPage } from '@/features/operator/readiness-page'

export default function AdminReadinessPage() {
  return <ReadinessPage />
}
