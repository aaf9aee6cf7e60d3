import {
  ArrowDown,
  ArrowUp,
  Bot,
  ArrowLeftRight,
  LayoutDashboard,
  ScrollText,
  Settings,
  Users,
  Waves,
} from 'lucide-react'
import { NavLink } from 'react-router'
import { Wordmark } from '@/components/wordmark'
import { cn } from '@/lib/cn'
import { paths } from '@/lib/paths'

const links = [
  { to: paths.admin.dashboard, label: 'Dashboard', icon: LayoutDashboard },
  { to: paths.admin.users, label: 'Users', icon: Users },
  { to: paths.admin.bots, label: 'Bot Subscriptions', icon: Bot },
  { to: paths.admin.transactions, label: 'Transactions', icon: ArrowLeftRight },
  { to: paths.admin.deposits, label: 'Deposits', icon: ArrowDown },
  { to: paths.admin.withdrawals, label: 'Withdrawals', icon: ArrowUp },
  { to: paths.admin.coverage, label: 'Coverage', icon: Waves },
  { to: paths.admin.audit, label: 'Audit', icon: ScrollText },
  { to: paths.admin.settings, label: 'Settings', icon: Settings },
]

export function AdministratorNavigation() {
  return (
    <aside className="border-r bg-sidebar p-3 md:w-62">
      <Wordmark className="block px-3 py-4" />
      <nav aria-label="Main" className="flex flex-col gap-0.5">
        {links.map(({ to, label, icon: Icon }) => (
          <NavLink
            key={to}
            to={to}
            className={({ isActive }) =>
              cn(
                'flex min-h-10 items-center gap-3 rounded-control px-3 font-medium hover:bg-accent pointer-coarse:min-h-11',
                isActive && 'bg-accent font-semibold text-accent-foreground',
              )
            }
          >
            <Icon className="size-5 stroke-[1.75]" aria-hidden />
            {label}
          </NavLink>
        ))}
      </nav>
    </aside>
  )
}
