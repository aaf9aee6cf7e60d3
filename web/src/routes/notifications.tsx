import { BeingBuilt } from '@/components/being-built'

export default function NotificationsPage() {
  return (
    <BeingBuilt
      title="Notifications"
      purpose="Decisions about your money, and about your account."
      shows="It will list them by day."
    />
  )
}
