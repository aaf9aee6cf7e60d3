import { useMemo } from 'react'
import { useAddress } from '@/lib/use-address'

export const pageSizes = [25, 50, 100] as const

export interface TableState {
  /** From 1. */
  page: number
  pageSize: number
  search: string
  /** "created_at.desc" */
  sort: string
  filters: Record<string, string>
}

export interface TableDefaults {
  sort: string
  /** What the server sorts by; another name in the address is as none. */
  sortable?: string[]
  /** Every filter the table knows, with its value when the address does not name it. 'all' filters nothing. */
  filters?: Record<string, string>
}

function positive(text: string | null, fallback: number): number {
  const value = Number(text)
  return Number.isInteger(value) && value > 0 ? value : fallback
}

function knownSort(text: string | null, { sort, sortable }: TableDefaults): string {
  const [column = '', direction = ''] = text?.split('.') ?? []
  return sortable?.includes(column) && ['asc', 'desc'].includes(direction) ? `${column}.${direction}` : sort
}

/** Reads a table's state out of the address, so that a link restores it. Pure, for the tests. */
export function readTableState(params: URLSearchParams, defaults: TableDefaults): TableState {
  const size = positive(params.get('size'), pageSizes[0])
  const filters = Object.entries(defaults.filters ?? {}).map(([key, value]) => [
    key,
    params.get(key) ?? value,
  ])
  return {
    page: positive(params.get('page'), 1),
    pageSize: pageSizes.includes(size as (typeof pageSizes)[number]) ? size : pageSizes[0],
    search: params.get('q') ?? '',
    sort: knownSort(params.get('sort'), defaults),
    filters: Object.fromEntries(filters) as Record<string, string>,
  }
}

/** What the address says after a change. Values equal to the default leave the address; page 1 too. */
export function writeTableState(
  params: URLSearchParams,
  defaults: TableDefaults,
  change: Partial<TableState>,
): URLSearchParams {
  const next = new URLSearchParams(params)
  const put = (key: string, value: string, fallback: string) => {
    if (value === fallback) next.delete(key)
    else next.set(key, value)
  }
  if (change.search !== undefined) put('q', change.search, '')
  if (change.sort !== undefined) put('sort', change.sort, defaults.sort)
  if (change.pageSize !== undefined) put('size', String(change.pageSize), String(pageSizes[0]))
  for (const [key, value] of Object.entries(change.filters ?? {}))
    put(key, value, defaults.filters?.[key] ?? 'all')
  // Whatever changes which rows there are starts at the first page again.
  put('page', String(change.page ?? 1), '1')
  return next
}

export interface TableController {
  state: TableState
  defaults: TableDefaults
  /** True when search or filters differ from showing everything. */
  narrowed: boolean
  /** Typing replaces the address; anything else is a step the back button undoes. */
  change: (change: Partial<TableState>, options?: { replace?: boolean }) => void
  /** Shows everything: no search, every filter on 'all'. */
  clear: () => void
}

/** A table whose page, search, sort and filters live in the address. */
export function useTableState(defaults: TableDefaults): TableController {
  const [params, setParams] = useAddress()
  const key = params.toString()
  // `defaults` is written inline by callers; its content decides, not its identity.
  const wanted = JSON.stringify(defaults)
  return useMemo(() => {
    const given = JSON.parse(wanted) as TableDefaults
    const state = readTableState(new URLSearchParams(key), given)
    const change: TableController['change'] = (next, { replace = false } = {}) =>
      setParams((present) => writeTableState(present, given, next), { replace })
    const all = Object.fromEntries(Object.keys(given.filters ?? {}).map((name) => [name, 'all']))
    return {
      state,
      defaults: given,
      narrowed: state.search !== '' || Object.values(state.filters).some((value) => value !== 'all'),
      change,
      clear: () => change({ search: '', filters: all }),
    }
  }, [key, wanted, setParams])
}
