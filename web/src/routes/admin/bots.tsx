import { AdminBots } from '@/features/bots/admin-bots'

export default function AdminBotsPage() {
  return <AdminBots />
}
