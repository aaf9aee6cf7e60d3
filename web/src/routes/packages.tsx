export { PackagesPage as default } from '@/features/packages/packages-page'
