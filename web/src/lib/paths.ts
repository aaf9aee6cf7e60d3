/** Every address of the product, so that a link and its route cannot drift apart. */
export const paths = {
  home: '/',
  signIn: '/sign-in',
  signUp: '/sign-up',
  forgotPassword: '/forgot-password',
  resetPassword: '/reset-password',
  emailConfirmed: '/email-confirmed',
  linkExpired: '/link-expired',
  confirm: '/auth/confirm',
  payouts: '/payouts',
  incomeDisclosure: '/income-disclosure',
  terms: '/terms',
  risk: '/risk',
  dashboard: '/dashboard',
  education: '/education',
  bots: '/bots',
  transactions: '/transactions',
  packages: '/packages',
  profile: '/profile',
  settings: '/settings',
  deposit: '/deposit',
  withdraw: '/withdraw',
  notifications: '/notifications',
  admin: {
    login: '/admin/login',
    dashboard: '/admin/dashboard',
    users: '/admin/users',
    bots: '/admin/bots',
    transactions: '/admin/transactions',
    deposits: '/admin/deposits',
    withdrawals: '/admin/withdrawals',
    corrections: '/admin/corrections',
    alarms: '/admin/alarms',
    coverage: '/admin/coverage',
    audit: '/admin/audit',
    settings: '/admin/settings',
    administrators: '/admin/administrators',
    readiness: '/admin/readiness',
  },
} as const

/** Pages that are the same for every visitor: the build writes them out, and the browser only brings them to life. */
export const publicPages: readonly string[] = [
  paths.home,
  paths.signIn,
  paths.signUp,
  paths.forgotPassword,
  paths.payouts,
  paths.incomeDisclosure,
  paths.terms,
  paths.risk,
]

const memberPages: readonly string[] = [
  paths.dashboard,
  paths.education,
  paths.bots,
  paths.transactions,
  paths.packages,
  paths.profile,
  paths.settings,
  paths.deposit,
  paths.withdraw,
  paths.notifications,
]

export function isMemberPage(path: string): boolean {
  return memberPages.includes(path)
}

/** Where to send someone who must sign in before they see `target` (path, query and fragment). */
export function signInPath(target: string): string {
  return `${paths.signIn}?redirect=${encodeURIComponent(target)}`
}

export const allPages: readonly string[] = Object.values(paths).flatMap((path) =>
  typeof path === 'string' ? path : Object.values(path),
)

/** True for the fragment of a mail link that signs in. */
export function hasTokens(fragment: string): boolean {
  const given = new URLSearchParams(fragment.replace(/^#/, ''))
  return given.has('access_token') || given.has('refresh_token')
}

/** The administrators' page that was asked for before signing in; their dashboard when none was. */
export function safeAdminRedirect(value: string | null, origin: string): string {
  const target = safeRedirect(value, origin, paths.admin.dashboard)
  const page = new URL(target, origin).pathname
  return page.startsWith('/admin/') && page !== paths.admin.login ? target : paths.admin.dashboard
}

/**
 * The path a `redirect` parameter may lead to: a page of this site, with query and fragment. Anything else, such
 * as another host, a scheme or the sign-in page itself, gives the fallback. The path is compared as the browser
 * wrote it anew: `/.//host` begins as a path of this site and becomes `//host`. Tokens are no part of a page.
 */
export function safeRedirect(
  value: string | null,
  origin: string,
  fallback: string = paths.dashboard,
): string {
  if (!value?.startsWith('/') || !URL.canParse(value, origin)) return fallback
  const target = new URL(value, origin)
  if (target.origin !== origin || target.pathname === paths.signIn || !allPages.includes(target.pathname))
    return fallback
  return target.pathname + target.search + (hasTokens(target.hash) ? '' : target.hash)
}
