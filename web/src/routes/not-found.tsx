import { NotFoundPage } from '@/features/landing/not-found-page'

export default NotFoundPage
