import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { adminKey } from '@/lib/admin-overview'
import type { TableController, TableState } from './table-state'

/** What a list is asked for, by the names of the wire. */
export type ListRequest = Omit<TableState, 'filters'> & Record<string, string | number>

/** One page of an administrators' list, as the address asks for it; the page before stays while the next loads. */
export function useAdminList<T>(
  name: string,
  table: TableController,
  load: (request: ListRequest) => Promise<T>,
  errorToast: string,
) {
  const { filters, ...rest } = table.state
  const request: ListRequest = { ...rest, ...filters }
  return useQuery({
    queryKey: [adminKey, name, request],
    queryFn: () => load(request),
    placeholderData: keepPreviousData,
    meta: { realm: 'administrator', errorToast },
  })
}
