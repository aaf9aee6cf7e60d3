import { Navigate, Outlet } from 'react-router'
import { DemoBanner } from '@/features/operator/demo-banner'
import { AdministratorNavigation } from '@/features/administrators/navigation'
import { administratorSession } from '@/lib/administrator-session'
import { paths } from '@/lib/paths'
import { useStore } from '@/lib/store'
import { SkipLink } from './skip-link'

/** The administrators' side: guard, side navigation (a rail from 768 px, a sheet below), content to 1600 px. */
export function AdminShell() {
  useStore(administratorSession)
  if (!administratorSession.current()) return <Navigate to={paths.admin.login} replace />
  return (
    <div className="flex min-h-dvh flex-col">
      <SkipLink />
      <DemoBanner />
      <div className="flex grow flex-col md:flex-row">
        <AdministratorNavigation />
        <main
          id="content"
          tabIndex={-1}
          className="page-gutter mx-auto w-full max-w-[1648px] min-w-0 grow py-6"
        >
          <Outlet />
        </main>
      </div>
    </div>
  )
}
