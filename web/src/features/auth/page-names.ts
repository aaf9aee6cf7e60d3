import { paths } from '@/lib/paths'

const names: Record<string, string> = {
  [paths.dashboard]: 'Dashboard',
  [paths.education]: 'Trading School',
  [paths.bots]: 'Bots & Tools',
  [paths.transactions]: 'Transactions',
  [paths.packages]: 'Packages',
  [paths.profile]: 'Profile',
  [paths.settings]: 'Settings',
  [paths.deposit]: 'Deposit',
  [paths.withdraw]: 'Withdraw',
  [paths.notifications]: 'Notifications',
}

/** The name of the page a path leads to, or null when it has none. */
export function pageName(path: string): string | null {
  return names[path.replace(/[?#].*$/, '')] ?? null
}
