export { ProfilePage as default } from '@/features/profiles/profile-page'
