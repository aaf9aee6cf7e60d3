import { BeingBuilt } from '@/components/being-built'

export default function BotsPage() {
  return (
    <BeingBuilt
      title="Bots & Tools"
      purpose="Three free bots that run with your own MT5 account."
      shows="It will list Scout, Ranger and Sentinel and what you subscribed to."
    />
  )
}
