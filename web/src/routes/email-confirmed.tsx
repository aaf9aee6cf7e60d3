import { EmailConfirmedPage } from '@/features/auth/email-confirmed-page'

export default EmailConfirmedPage
