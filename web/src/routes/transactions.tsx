export { TransactionsPage as default } from '@/features/transactions/transactions-page'
