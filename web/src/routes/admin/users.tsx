import { BeingBuilt } from '@/components/being-built'

export default function AdminUsersPage() {
  return (
    <BeingBuilt
      title="Users Management"
      purpose="Every member and the state of the account."
      shows="It will list the members."
    />
  )
}
