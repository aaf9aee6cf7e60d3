import type { ReactNode } from 'react'
import { Link } from 'react-router'
import { paths } from '@/lib/paths'
import { useAdminRole } from '@/lib/use-admin-role'
import { EmptyState } from './empty-state'
import { PageHead } from './page-head'
import { Button } from './ui/button'

/** A page of super administrators: another role is told so, and nothing is asked of the server. */
export function SuperAdminOnly({ title, children }: { title: string; children: ReactNode }) {
  const role = useAdminRole()
  if (role === 'super_admin') return children
  return (
    <>
      <PageHead title={title} />
      <EmptyState
        drawing="gate"
        title={`Your role (${role}) cannot open this page.`}
        action={
          <Button variant="outline" asChild>
            <Link to={paths.admin.dashboard}>Back to the dashboard</Link>
          </Button>
        }
      />
    </>
  )
}
