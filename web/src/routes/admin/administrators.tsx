import { AccountsPage } from '@/features/administrators/accounts-page'

export default function AdminAdministratorsPage() {
  return <AccountsPage />
}
