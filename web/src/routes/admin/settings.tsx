import { AdminSettings } from '@/features/administrators/admin-settings'

export default function AdminSettingsPage() {
  return <AdminSettings />
}
