import { TermsPage } from '@/features/disclosure/published-page'

export default TermsPage
