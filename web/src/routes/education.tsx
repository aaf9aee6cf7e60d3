import { BeingBuilt } from '@/components/being-built'

export default function EducationPage() {
  return (
    <BeingBuilt
      title="Trading School"
      purpose="Learning material, not advice."
      shows="It will hold three levels of four lessons each."
    />
  )
}
