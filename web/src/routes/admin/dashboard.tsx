import { BeingBuilt } from '@/components/being-built'

export default function AdminDashboardPage() {
  return (
    <BeingBuilt
      title="Admin Dashboard"
      purpose="What waits for you, and what the books say."
      shows="It will show the oldest pending requests and the totals."
    />
  )
}
