import { AuditPage } from '@/features/audit/audit-page'

export default function AdminAuditPage() {
  return <AuditPage />
}
