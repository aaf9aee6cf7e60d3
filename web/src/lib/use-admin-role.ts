import { useQuery } from '@tanstack/react-query'
import { adminOverviewQuery } from './admin-overview'
import { administratorSession } from './administrator-session'

/** The administrator's role as the server last told it. A courtesy to the person: the server decides. */
export function useAdminRole(): string {
  const { data } = useQuery(adminOverviewQuery)
  return data?.admin.role ?? administratorSession.get()?.admin.role ?? ''
}

/** Why this role decides no money and opens no receipt; null when it does. */
export function useMoneyForbidden(): string | null {
  const role = useAdminRole()
  return role === 'finance_admin' || role === 'super_admin' ? null : `Your role (${role}) cannot do this.`
}
