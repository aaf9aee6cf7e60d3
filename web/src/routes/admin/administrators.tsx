import { SuperAdminOnly } from '@/components/super-admin-only'
import { AccountsPage } from '@/features/administrators/accounts-page'

export default function AdminAdministratorsPage() {
  return (
    <SuperAdminOnly title="Administrators">
      <AccountsPage />
    </SuperAdminOnly>
  )
}
