import { BeingBuilt } from '@/components/being-built'

export default function SignInPage() {
  return <BeingBuilt title="Sign in" purpose="With your email and password." shows="x" />
}
