import { BeingBuilt } from '@/components/being-built'

export default function NotFoundPage() {
  return <BeingBuilt title="Oops! Page not found" purpose="x" shows="x" />
}
