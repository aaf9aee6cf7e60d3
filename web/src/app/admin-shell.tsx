import { useQuery } from '@tanstack/react-query'
import { Menu, PanelLeft } from 'lucide-react'
import { lazy, Suspense, useEffect, useState, type ComponentProps } from 'react'
import { Navigate, Outlet, ScrollRestoration, useLocation } from 'react-router'
import { Wordmark } from '@/components/wordmark'
import { Button } from '@/components/ui/button'
import { Sheet, SheetContent, SheetTrigger } from '@/components/ui/sheet'
import { AdminAccount } from '@/features/administrators/account'
import { IdleWatch } from '@/features/administrators/idle-watch'
import { AdminNavigation } from '@/features/administrators/navigation'
import { ProofDialog } from '@/features/administrators/proof-dialog'
import { DemoBanner } from '@/features/operator/demo-banner'
import { administratorSession, type Administrator } from '@/lib/administrator-session'
import { adminOverviewQuery } from '@/lib/admin-overview'
import { cn } from '@/lib/cn'
import { confirmableCount, correctionsQuery } from '@/lib/corrections'
import { paths } from '@/lib/paths'
import { useStore } from '@/lib/store'
import { stored } from '@/lib/stored'
import { useMedia } from '@/lib/use-media'
import { OfflineStrip } from './offline-strip'
import { scrollKey } from './scroll-key'
import { SkipLink } from './skip-link'
import { ThemeMenu } from './theme-menu'

const AdminBell = lazy(() => import('@/features/notifications/admin-bell'))

const collapsedKey = 'harborline-admin-navigation'

/** Whether the side navigation is a rail; Ctrl or Cmd with B turns it, and the choice is remembered. */
function useCollapsed() {
  const [collapsed, setCollapsed] = useState(() => stored.get(collapsedKey) === 'collapsed')
  function turn() {
    setCollapsed((before) => {
      stored.set(collapsedKey, before ? 'open' : 'collapsed')
      return !before
    })
  }
  useEffect(() => {
    function onKey(event: KeyboardEvent) {
      if (
        event.key.toLowerCase() !== 'b' ||
        !(event.ctrlKey || event.metaKey) ||
        event.shiftKey ||
        event.altKey
      )
        return
      event.preventDefault()
      turn()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [])
  return { collapsed, turn }
}

interface SideProps {
  admin: Pick<Administrator, 'email' | 'full_name' | 'role'>
  pending: ComponentProps<typeof AdminNavigation>['pending']
}

/** Keeps its place until it is there. */
function Bell() {
  return (
    <Suspense fallback={<span className="size-11" />}>
      <AdminBell />
    </Suspense>
  )
}

function PhoneHeader({ admin, pending }: SideProps) {
  const wide = useMedia('(min-width: 48rem)')
  const [open, setOpen] = useState(false)
  return (
    <header className="sticky top-0 z-30 flex h-14 items-center gap-2 border-b bg-card px-2 md:hidden">
      <Sheet open={open} onOpenChange={setOpen}>
        <SheetTrigger asChild>
          <Button variant="ghost" size="icon" aria-label="Menu">
            <Menu aria-hidden />
          </Button>
        </SheetTrigger>
        <SheetContent title="Navigation">
          <AdminNavigation role={admin.role} pending={pending} onNavigate={() => setOpen(false)} />
          <div className="mt-6">
            <AdminAccount admin={admin} />
          </div>
        </SheetContent>
      </Sheet>
      <Wordmark className="grow" />
      {wide ? null : <Bell />}
      <ThemeMenu />
    </header>
  )
}

function Side({ admin, pending }: SideProps) {
  const wide = useMedia('(min-width: 48rem)')
  const { collapsed, turn } = useCollapsed()
  const rail = collapsed ? 'always' : 'md'
  return (
    <aside
      aria-label="Side"
      className={cn('hidden w-16 shrink-0 border-r bg-sidebar md:block', !collapsed && 'lg:w-62')}
    >
      {/* Below the demo banner its foot is in sight too. */}
      <div className="sticky top-0 flex h-[calc(100dvh-var(--demo-banner,0px))] flex-col gap-2 overflow-y-auto p-3">
        <div className="flex min-h-11 items-center justify-between">
          <Wordmark className={cn('hidden px-2.5', !collapsed && 'lg:block')} />
          <Button
            variant="ghost"
            size="icon-compact"
            className="hidden lg:inline-flex"
            aria-label={collapsed ? 'Open the navigation' : 'Collapse the navigation'}
            aria-expanded={!collapsed}
            aria-keyshortcuts="Control+B Meta+B"
            title="Ctrl+B"
            onClick={turn}
          >
            <PanelLeft aria-hidden />
          </Button>
        </div>
        <AdminNavigation role={admin.role} pending={pending} rail={rail} />
        <div className="mt-auto flex flex-col gap-2">
          <div className="flex flex-wrap gap-1">
            <ThemeMenu />
            {wide ? <Bell /> : null}
          </div>
          <AdminAccount admin={admin} rail={rail} />
        </div>
      </div>
    </aside>
  )
}

function SignedIn({ signedIn }: { signedIn: Administrator }) {
  const overview = useQuery(adminOverviewQuery)
  const corrections = useQuery(correctionsQuery)
  const admin = overview.data?.admin ?? signedIn
  const pending = {
    ...overview.data?.pending,
    corrections: confirmableCount(corrections.data),
    alarms: overview.data?.alarms.open,
  }
  return (
    <div data-wide className="flex min-h-dvh flex-col">
      <SkipLink />
      <DemoBanner />
      <OfflineStrip loadedAt={overview.dataUpdatedAt} />
      <IdleWatch />
      <ProofDialog admin={signedIn} />
      <PhoneHeader admin={admin} pending={pending} />
      <div className="flex min-w-0 grow">
        <Side admin={admin} pending={pending} />
        <main
          id="content"
          tabIndex={-1}
          className="page-gutter mx-auto w-full max-w-[1648px] min-w-0 grow py-6"
        >
          <Outlet />
        </main>
      </div>
      <ScrollRestoration getKey={scrollKey} />
    </div>
  )
}

/** The administrators' side: guard, side navigation (a rail from 768 px, a sheet below), content to 1600 px. */
export function AdminShell() {
  useStore(administratorSession)
  const { pathname, search } = useLocation()
  const session = administratorSession.current()
  if (!session) {
    // In the history, not in the address: who signs out leaves nothing behind.
    const from = administratorSession.left() ? null : pathname + search
    return <Navigate to={paths.admin.login} state={from} replace />
  }
  // Signing in again replaces the session, not the page.
  return <SignedIn key={session.admin.id} signedIn={session.admin} />
}
