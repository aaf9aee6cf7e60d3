import {
  ArrowDownToLine,
  ArrowLeftRight,
  ArrowUpFromLine,
  BadgeCheck,
  BellRing,
  Bot,
  LayoutDashboard,
  ScrollText,
  Settings,
  ShieldUser,
  Undo2,
  Users,
  Waves,
  type LucideIcon,
} from 'lucide-react'
import { NavLink } from 'react-router'
import { cn } from '@/lib/cn'
import { paths } from '@/lib/paths'

/** How many requests, corrections and alarms wait; a figure that is not known is not there. */
type Waiting = Partial<Record<'deposits' | 'withdrawals' | 'corrections' | 'alarms', number>>

interface Entry {
  to: string
  label: string
  icon: LucideIcon
  /** How many of what wait there. */
  waiting?: keyof Waiting
  superOnly?: true
}

const entries: Entry[] = [
  { to: paths.admin.dashboard, label: 'Dashboard', icon: LayoutDashboard },
  { to: paths.admin.users, label: 'Users', icon: Users },
  { to: paths.admin.bots, label: 'Bot Subscriptions', icon: Bot },
  { to: paths.admin.transactions, label: 'Transactions', icon: ArrowLeftRight },
  { to: paths.admin.deposits, label: 'Deposits', icon: ArrowDownToLine, waiting: 'deposits' },
  { to: paths.admin.withdrawals, label: 'Withdrawals', icon: ArrowUpFromLine, waiting: 'withdrawals' },
  { to: paths.admin.corrections, label: 'Corrections', icon: Undo2, waiting: 'corrections' },
  { to: paths.admin.alarms, label: 'Alarms', icon: BellRing, waiting: 'alarms' },
  { to: paths.admin.coverage, label: 'Coverage', icon: Waves },
  { to: paths.admin.audit, label: 'Audit', icon: ScrollText },
  { to: paths.admin.settings, label: 'Settings', icon: Settings },
  { to: paths.admin.administrators, label: 'Administrators', icon: ShieldUser, superOnly: true },
  { to: paths.admin.readiness, label: 'Readiness', icon: BadgeCheck, superOnly: true },
]

interface AdminNavigationProps {
  role: string
  pending: Waiting
  /** Icons only: the word is then the name and the tooltip. `md` does so below 1024 px only. */
  rail?: 'always' | 'md' | 'never'
  onNavigate?: () => void
}

/** The pages of the administrators' side. */
export function AdminNavigation({ role, pending, rail = 'never', onNavigate }: AdminNavigationProps) {
  const word = cn('grow', rail === 'always' && 'sr-only', rail === 'md' && 'max-lg:sr-only')
  return (
    <nav aria-label="Main" className="flex flex-col gap-0.5">
      {entries
        .filter((entry) => !entry.superOnly || role === 'super_admin')
        .map(({ to, label, icon: Icon, waiting }) => {
          const count = waiting ? (pending[waiting] ?? 0) : 0
          return (
            <NavLink
              key={to}
              to={to}
              title={rail === 'never' ? undefined : label}
              onClick={onNavigate}
              className={({ isActive }) =>
                cn(
                  'flex min-h-10 items-center gap-3 rounded-control px-2.5 font-medium hover:bg-accent pointer-coarse:min-h-11',
                  isActive && 'bg-accent font-semibold text-accent-foreground',
                )
              }
            >
              <Icon className="size-5 stroke-[1.75]" aria-hidden />
              <span className={word}>{label}</span>
              {count > 0 ? (
                <span
                  className={cn('tabular', rail === 'always' && 'sr-only', rail === 'md' && 'max-lg:sr-only')}
                >
                  {count}
                  <span className="sr-only"> pending</span>
                </span>
              ) : null}
            </NavLink>
          )
        })}
    </nav>
  )
}
