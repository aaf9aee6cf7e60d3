import { BeingBuilt } from '@/components/being-built'

export default function AdminBotsPage() {
  return (
    <BeingBuilt
      title="Bot Subscriptions"
      purpose="Who runs which bot."
      shows="It will list the subscriptions."
    />
  )
}
