import { BeingBuilt } from '@/components/being-built'

export default function ProfilePage() {
  return (
    <BeingBuilt
      title="Profile"
      purpose="Who you are here."
      shows="It will let you change username and email."
    />
  )
}
