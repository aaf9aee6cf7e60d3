import { AdminMembers } from '@/features/profiles/admin-members'

export default function AdminUsersPage() {
  return <AdminMembers />
}
