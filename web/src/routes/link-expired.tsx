import { LinkExpiredPage } from '@/features/auth/link-expired-page'

export default LinkExpiredPage
