export { WithdrawPage as default } from '@/features/withdrawals/withdraw-page'
