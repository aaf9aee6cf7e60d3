import { BeingBuilt } from '@/components/being-built'

export default function AdminAdministratorsPage() {
  return (
    <BeingBuilt
      title="Administrators"
      purpose="Who may sign in here."
      shows="It will list the administrators."
    />
  )
}
