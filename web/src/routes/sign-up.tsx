import { BeingBuilt } from '@/components/being-built'

export default function SignUpPage() {
  return <BeingBuilt title="Create your account" purpose="You need a referral code." shows="x" />
}
