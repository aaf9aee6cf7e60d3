import { CorrectionsPage } from '@/features/corrections/corrections-page'

export default function AdminCorrectionsPage() {
  return <CorrectionsPage />
}
