import { Button } from '@/components/ui/button'
import { Wordmark } from '@/components/wordmark'
import { cn } from '@/lib/cn'
import { paths } from '@/lib/paths'
import { memberSession } from '@/lib/session'
import { useStore } from '@/lib/store'
import { NavigationSheet } from './navigation-sheet'
import type { PageLink } from './plain-link'
import { ThemeMenu } from './theme-menu'

interface VisitorHeaderProps {
  link: PageLink
  /** It is wider there, and leads who is signed in to the dashboard. */
  landing?: boolean
}

export function VisitorHeader({ link: Link, landing = false }: VisitorHeaderProps) {
  const { status } = useStore(memberSession)
  const dashboard = landing && status === 'member'
  const links = [
    ...(dashboard ? [{ to: paths.dashboard, label: 'Dashboard' }] : []),
    { to: paths.signIn, label: 'Sign in' },
    { to: paths.signUp, label: 'Sign up' },
  ]
  return (
    <header data-print="no" className="sticky top-0 z-30 border-b bg-card">
      <div
        className={cn(
          'page-gutter mx-auto flex h-14 items-center justify-between lg:h-16',
          landing ? 'max-w-[1248px]' : 'max-w-[1168px]',
        )}
      >
        <a href={paths.home} className="rounded-badge py-2">
          <Wordmark />
        </a>
        <nav aria-label="Main" className="hidden items-center gap-2 md:flex">
          <ThemeMenu />
          {dashboard ? (
            <Button asChild variant="ghost">
              <Link to={paths.dashboard}>Dashboard</Link>
            </Button>
          ) : null}
          <Button asChild variant="ghost">
            <Link to={paths.signIn}>Sign in</Link>
          </Button>
          <Button asChild variant="outline">
            <Link to={paths.signUp}>Sign up</Link>
          </Button>
        </nav>
        <div className="-mr-3 md:hidden">
          <NavigationSheet link={Link} links={links}>
            <div className="flex items-center justify-between">
              <span className="font-medium">Theme</span>
              <ThemeMenu />
            </div>
          </NavigationSheet>
        </div>
      </div>
    </header>
  )
}
