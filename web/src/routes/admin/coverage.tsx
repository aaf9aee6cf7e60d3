import { CoveragePage } from '@/features/coverage/coverage-page'

export default function AdminCoveragePage() {
  return <CoveragePage />
}
