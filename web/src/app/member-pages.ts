import { paths } from '@/lib/paths'
import type { NavigationLink } from './menu-button'

interface MemberPage extends NavigationLink {
  /** The width from which on the page stands in the header; without one it is always under 'More'. */
  from?: keyof typeof widths
}

/** The style sheet's own, for what must know how wide the header is; in rem, which grow with the reader's font. */
const widths = { md: 48, lg: 64, xl: 80 }

/** Every page of a member, in the order of the header. */
export const memberPages: MemberPage[] = [
  { to: paths.dashboard, label: 'Dashboard', from: 'md' },
  { to: paths.packages, label: 'Packages', from: 'xl' },
  { to: paths.bots, label: 'Bots & Tools', from: 'md' },
  { to: paths.education, label: 'Trading School' },
  { to: paths.transactions, label: 'Transactions' },
  { to: paths.profile, label: 'Profile', from: 'md' },
  { to: paths.settings, label: 'Settings', from: 'md' },
  { to: paths.deposit, label: 'Deposit', from: 'lg' },
  { to: paths.withdraw, label: 'Withdraw', from: 'lg' },
  { to: paths.notifications, label: 'Notifications' },
]

/** Whether a page has its place in the header as wide as it is now. */
export function standsInHeader({ from }: MemberPage): boolean {
  return from !== undefined && matchMedia(`(min-width: ${widths[from]}rem)`).matches
}
