import { RiskPage } from '@/features/disclosure/published-page'

export default RiskPage
