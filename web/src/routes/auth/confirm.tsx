import { ConfirmPage } from '@/features/auth/confirm-page'

export default ConfirmPage
