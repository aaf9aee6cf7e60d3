import { LogOut } from 'lucide-react'
import { Link, NavLink } from 'react-router'
import { Button } from '@/components/ui/button'
import { Wordmark } from '@/components/wordmark'
import { useSignOut } from '@/features/auth/use-sign-out'
import { NotificationBell } from '@/features/notifications/notification-bell'
import { cn } from '@/lib/cn'
import { paths } from '@/lib/paths'
import { NavigationSheet } from './navigation-sheet'
import { ThemeMenu } from './theme-menu'

const links = [
  { to: paths.dashboard, label: 'Dashboard' },
  { to: paths.bots, label: 'Bots & Tools' },
  { to: paths.profile, label: 'Profile' },
  { to: paths.settings, label: 'Settings' },
]

const sheetLinks = [
  ...links,
  { to: paths.deposit, label: 'Deposit' },
  { to: paths.withdraw, label: 'Withdraw' },
  { to: paths.transactions, label: 'Transactions' },
  { to: paths.packages, label: 'Packages' },
  { to: paths.education, label: 'Trading School' },
]

function SignOutButton({ variant }: { variant: 'ghost' | 'outline' }) {
  const { signOut, busy } = useSignOut(() => location.assign(paths.home))
  return (
    <Button variant={variant} busy={busy && 'Signing out...'} onClick={() => void signOut()}>
      <LogOut aria-hidden />
      Sign Out
    </Button>
  )
}

function Links() {
  return (
    <nav aria-label="Main" className="ml-8 hidden h-full items-stretch gap-6 lg:flex">
      {links.map((link) => (
        <NavLink
          key={link.to}
          to={link.to}
          className={({ isActive }) =>
            cn(
              'relative flex items-center px-0.5 font-medium text-muted-foreground after:absolute after:inset-x-0 after:-bottom-px after:h-[3px] hover:text-foreground',
              isActive && 'font-semibold text-foreground after:bg-primary',
            )
          }
        >
          {link.label}
        </NavLink>
      ))}
    </nav>
  )
}

export default function MemberHeader() {
  return (
    <header data-print="no" className="sticky top-0 z-30 border-b bg-card">
      <div className="page-gutter mx-auto flex h-14 max-w-[1168px] items-center justify-between md:h-16">
        <div className="-ml-3 lg:hidden">
          <NavigationSheet link={NavLink} links={sheetLinks}>
            <div className="flex items-center justify-between">
              <span className="font-medium">Theme</span>
              <ThemeMenu />
            </div>
            <SignOutButton variant="outline" />
          </NavigationSheet>
        </div>
        <div className="flex h-full items-center">
          <Link to={paths.dashboard} className="rounded-badge py-2">
            <Wordmark />
          </Link>
          <Links />
        </div>
        <div className="-mr-3 flex items-center lg:gap-1">
          <NotificationBell />
          <div className="hidden items-center gap-1 lg:flex">
            <ThemeMenu />
            <SignOutButton variant="ghost" />
          </div>
        </div>
      </div>
    </header>
  )
}
