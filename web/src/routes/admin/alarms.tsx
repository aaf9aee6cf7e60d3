import { AlarmsPage } from '@/features/alarms/alarms-page'

export default function AdminAlarmsPage() {
  return <AlarmsPage />
}
