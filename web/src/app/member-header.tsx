import { ArrowDownToLine, ArrowUpFromLine, LogOut, type LucideIcon } from 'lucide-react'
import { lazy } from 'react'
import { Link, NavLink } from 'react-router'
import { LazyMenu } from '@/components/lazy-menu'
import { Button } from '@/components/ui/button'
import { Wordmark } from '@/components/wordmark'
import { useSignOut } from '@/features/auth/use-sign-out'
import { NotificationBell } from '@/features/notifications/notification-bell'
import { cn } from '@/lib/cn'
import { paths } from '@/lib/paths'
import { usePlatform } from '@/lib/platform'
import { memberSession } from '@/lib/session'
import { useStore } from '@/lib/store'
import { supportLink } from '@/lib/support'
import { useAccount } from '@/lib/use-account'
import { headerItem } from './header-item'
import { AccountButton, MoreButton } from './member-menu-buttons'
import { memberPages } from './member-pages'
import { NavigationSheet } from './navigation-sheet'
import { ThemeMenu } from './theme-menu'

const menus = () => import('./member-menus')
const AccountMenu = lazy(async () => ({ default: (await menus()).AccountMenu }))
const MoreMenu = lazy(async () => ({ default: (await menus()).MoreMenu }))

const shown = { md: '', lg: 'hidden lg:flex', xl: 'hidden xl:flex' }
const inHeader = memberPages.flatMap((page) => (page.from ? [{ ...page, from: page.from }] : []))
const isMoney = (to: string) => to === paths.deposit || to === paths.withdraw

function SignOutButton({ variant, size }: { variant: 'ghost' | 'outline'; size?: 'compact' }) {
  const { signOut, busy } = useSignOut()
  return (
    <Button
      variant={variant}
      size={size}
      busy={busy && (size ? 'Wait...' : 'Signing out...')}
      onClick={() => void signOut()}
    >
      {size ? null : <LogOut aria-hidden />}
      Sign Out
    </Button>
  )
}

const icons: Partial<Record<string, LucideIcon>> = {
  [paths.deposit]: ArrowDownToLine,
  [paths.withdraw]: ArrowUpFromLine,
}

function HeaderLink({ to, label, from }: (typeof inHeader)[number]) {
  const Icon = icons[to]
  return (
    <NavLink to={to} className={({ isActive }) => cn(headerItem(isActive), shown[from])}>
      {Icon ? <Icon className="mr-1.5 hidden size-4 stroke-[1.75] xl:block" aria-hidden /> : null}
      {label}
    </NavLink>
  )
}

/** What a width has no place for is under 'More'. */
function Links() {
  return (
    <nav aria-label="Main" className="ml-5 hidden h-full items-stretch gap-3 md:flex lg:ml-6 lg:gap-4">
      {inHeader.map((page) => (isMoney(page.to) ? null : <HeaderLink key={page.to} {...page} />))}
      <LazyMenu button={MoreButton}>
        <MoreMenu />
      </LazyMenu>
      <span aria-hidden className="hidden h-6 self-center border-l lg:block" />
      {inHeader.map((page) => (isMoney(page.to) ? <HeaderLink key={page.to} {...page} /> : null))}
    </nav>
  )
}

/** Below the pages of the phone's sheet: whose account it is, and what the account menu has elsewhere. */
function SheetAccount() {
  const { data } = useAccount()
  const { email } = useStore(memberSession)
  const support = supportLink(usePlatform().data)
  return (
    <>
      <p className="[overflow-wrap:anywhere]">
        <span className="block font-semibold">{data?.displayName ?? data?.username}</span>
        <span className="block text-compact text-muted-foreground">{email}</span>
      </p>
      {support ? (
        <a href={support} className="flex min-h-11 items-center font-medium">
          Contact support
        </a>
      ) : null}
      <div className="flex items-center justify-between">
        <span className="font-medium">Theme</span>
        <ThemeMenu />
      </div>
      <SignOutButton variant="outline" />
    </>
  )
}

export default function MemberHeader() {
  return (
    <header data-print="no" className="sticky top-0 z-30 border-b bg-card">
      <div className="page-gutter mx-auto flex h-14 max-w-[1168px] items-center justify-between md:h-16">
        <div className="-ml-3 md:hidden">
          <NavigationSheet link={NavLink} links={memberPages}>
            <SheetAccount />
          </NavigationSheet>
        </div>
        <div className="flex h-full items-center">
          <Link to={paths.dashboard} className="rounded-badge py-2">
            <Wordmark />
          </Link>
          <Links />
        </div>
        <div className="-mr-3 flex items-center gap-2 md:gap-1 lg:gap-2">
          <NotificationBell />
          <div className="hidden items-center md:flex">
            <LazyMenu button={AccountButton}>
              <AccountMenu />
            </LazyMenu>
            <SignOutButton variant="ghost" size="compact" />
          </div>
        </div>
      </div>
    </header>
  )
}
