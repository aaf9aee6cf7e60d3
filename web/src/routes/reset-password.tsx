import { BeingBuilt } from '@/components/being-built'

export default function ResetPasswordPage() {
  return <BeingBuilt title="New password" purpose="x" shows="x" />
}
