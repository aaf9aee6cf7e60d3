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
  '/admin/coverage',
  '/admin/audit',
  '/admin/settings',
  '/admin/administrators',
  '/admin/readiness',
]
