import { LifeBuoy, LogOut, Settings, User } from 'lucide-react'
import { Link, useLocation } from 'react-router'
import {
  DropdownMenu,
  DropdownMenuContent,
  DropdownMenuItem,
  DropdownMenuLabel,
  DropdownMenuRadioGroup,
  DropdownMenuSegment,
  DropdownMenuSeparator,
  DropdownMenuTrigger,
} from '@/components/ui/dropdown-menu'
import { useSignOut } from '@/features/auth/use-sign-out'
import { paths } from '@/lib/paths'
import { usePlatform } from '@/lib/platform'
import { memberSession } from '@/lib/session'
import { useStore } from '@/lib/store'
import { supportLink } from '@/lib/support'
import { theme, themes, type Theme } from '@/lib/theme'
import { useAccount } from '@/lib/use-account'
import { AccountButton, MoreButton } from './member-menu-buttons'
import { memberPages, standsInHeader } from './member-pages'

export function MoreMenu() {
  const { pathname } = useLocation()
  return (
    <DropdownMenu defaultOpen>
      <DropdownMenuTrigger asChild>
        <MoreButton />
      </DropdownMenuTrigger>
      <DropdownMenuContent align="start">
        {memberPages
          .filter((page) => !standsInHeader(page))
          .map(({ to, label }) => (
            <DropdownMenuItem key={to} asChild>
              <Link to={to} aria-current={to === pathname ? 'page' : undefined}>
                {label}
              </Link>
            </DropdownMenuItem>
          ))}
      </DropdownMenuContent>
    </DropdownMenu>
  )
}

/** Whose account it is in full, what belongs to it, and the way out. */
export function AccountMenu() {
  const { signOut } = useSignOut()
  return (
    <DropdownMenu defaultOpen>
      <DropdownMenuTrigger asChild>
        <AccountButton />
      </DropdownMenuTrigger>
      <DropdownMenuContent className="w-64">
        <Owner />
        <DropdownMenuSeparator />
        <DropdownMenuItem asChild>
          <Link to={paths.profile}>
            <User aria-hidden />
            Profile
          </Link>
        </DropdownMenuItem>
        <DropdownMenuItem asChild>
          <Link to={paths.settings}>
            <Settings aria-hidden />
            Settings
          </Link>
        </DropdownMenuItem>
        <Support />
        <DropdownMenuSeparator />
        <ThemeChoice />
        <DropdownMenuSeparator />
        <DropdownMenuItem onSelect={() => void signOut()}>
          <LogOut aria-hidden />
          Sign Out
        </DropdownMenuItem>
      </DropdownMenuContent>
    </DropdownMenu>
  )
}

function Owner() {
  const { data } = useAccount()
  const { email } = useStore(memberSession)
  return (
    <DropdownMenuLabel>
      <span className="block font-semibold">{data?.displayName ?? data?.username}</span>
      <span className="block text-muted-foreground">{email}</span>
    </DropdownMenuLabel>
  )
}

function Support() {
  const link = supportLink(usePlatform().data)
  if (!link) return null
  return (
    <DropdownMenuItem asChild>
      <a href={link}>
        <LifeBuoy aria-hidden />
        Contact support
      </a>
    </DropdownMenuItem>
  )
}

function ThemeChoice() {
  const current = useStore<Theme>(theme)
  return (
    <>
      <DropdownMenuLabel className="pb-0 text-caption text-muted-foreground">Theme</DropdownMenuLabel>
      <DropdownMenuRadioGroup
        aria-label="Theme"
        value={current}
        onValueChange={(value) => theme.set(value as Theme)}
        className="mx-3 my-1.5 flex divide-x divide-input rounded-control border border-input"
      >
        {themes.map(({ value, label }) => (
          <DropdownMenuSegment key={value} value={value}>
            {label}
          </DropdownMenuSegment>
        ))}
      </DropdownMenuRadioGroup>
    </>
  )
}
