export { BotsPage as default } from '@/features/bots/bots-page'
