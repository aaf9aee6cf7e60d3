import { IncomePage } from '@/features/disclosure/income-page'

export default IncomePage
