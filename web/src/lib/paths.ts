/** Every address of the product, so that a link and its route cannot drift apart. */
export const paths = {
  home: '/',
  signIn: '/sign-in',
  signUp: '/sign-up',
  forgotPassword: '/forgot-password',
  resetPassword: '/reset-password',
  emailConfirmed: '/email-confirmed',
  linkExpired: '/link-expired',
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
    coverage: '/admin/coverage',
    audit: '/admin/audit',
    settings: '/admin/settings',
    administrators: '/admin/administrators',
    readiness: '/admin/readiness',
  },
} as const

/** Where to send someone who must sign in before they see `target` (path, query and fragment). */
export function signInPath(target: string): string {
  return `${paths.signIn}?redirect=${encodeURIComponent(target)}`
}

/**
 * The path a `redirect` parameter may lead to: same origin only. Anything else, such as another host,
 * a scheme, a protocol-relative address or the sign-in page itself, gives the fallback.
 */
export function safeRedirect(
  value: string | null,
  origin: string,
  fallback: string = paths.dashboard,
): string {
  if (!value?.startsWith('/') || /^\/[/\\]/.test(value)) return fallback
  let target: URL
  try {
    target = new URL(value, origin)
  } catch {
    return fallback
  }
  if (target.origin !== origin || target.pathname === paths.signIn) return fallback
  return target.pathname + target.search + target.hash
}
