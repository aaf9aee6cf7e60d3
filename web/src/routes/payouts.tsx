import { PayoutsPage } from '@/features/disclosure/payouts-page'

export default PayoutsPage
