import { BeingBuilt } from '@/components/being-built'

export default function AdminSettingsPage() {
  return (
    <BeingBuilt
      title="Admin Settings"
      purpose="Your account and your password."
      shows="It will show your account."
    />
  )
}
