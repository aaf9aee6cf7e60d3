import { BeingBuilt } from '@/components/being-built'

export default function SettingsPage() {
  return (
    <BeingBuilt
      title="Settings"
      purpose="Wallet, password and two-step sign-in."
      shows="It will hold your wallet address and your sign-in settings."
    />
  )
}
