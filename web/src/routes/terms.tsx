import { BeingBuilt } from '@/components/being-built'

export default function TermsPage() {
  return (
    <BeingBuilt title="Terms" purpose="What you and the operator agree on." shows="It will show the text." />
  )
}
