export { DepositPage as default } from '@/features/deposits/deposit-page'
