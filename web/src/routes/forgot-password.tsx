import { BeingBuilt } from '@/components/being-built'

export default function ForgotPasswordPage() {
  return <BeingBuilt title="Forgot password" purpose="x" shows="x" />
}
