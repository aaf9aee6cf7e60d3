import { stack } from './stack'

/** Every address that needs no sign-in. */
export const publicPages = [
  '/',
  '/sign-in',
  '/sign-in?redirect=%2Fwithdraw',
  '/sign-up',
  `/sign-up?ref=${stack.DEMO_REFERRAL_CODE ?? ''}`,
  '/forgot-password',
  '/link-expired',
  '/email-confirmed',
  '/auth/confirm?token_hash=abc&type=signup&redirect_to=https://app.example.org',
  '/auth/confirm',
  '/payouts',
  '/income-disclosure',
  '/terms',
  '/risk',
  '/no-such-page',
  '/admin/login',
]

/** Every address of a member, each view of it once. */
export const memberPages = [
  '/dashboard',
  '/dashboard?view=advanced&tab=bonuses',
  '/dashboard?view=advanced&tab=pairing',
  '/dashboard?view=advanced&tab=network',
  '/dashboard?view=advanced&tab=tree',
  '/dashboard?view=compact',
  '/deposit',
  '/withdraw',
  '/transactions',
  '/packages',
  '/bots',
  '/education',
  '/profile',
  '/settings',
  '/notifications',
]

/** Every address of the administrators' side, each view of it once. */
export const administratorPages = [
  '/admin/dashboard',
  '/admin/dashboard?tab=financial',
  '/admin/users',
  '/admin/bots',
  '/admin/transactions',
  '/admin/deposits',
  '/admin/deposits?status=all',
  '/admin/withdrawals',
  '/admin/corrections',
  '/admin/alarms',
  '/admin/coverage',
  '/admin/audit',
  '/admin/settings',
  '/admin/administrators',
  '/admin/readiness',
]
