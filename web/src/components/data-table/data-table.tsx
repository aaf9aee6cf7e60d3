import { getCoreRowModel, useReactTable, type Table } from '@tanstack/react-table'
import { useEffect, useMemo } from 'react'
import { EmptyState } from '@/components/empty-state'
import { Region } from '@/components/region'
import { Button } from '@/components/ui/button'
import { Skeleton } from '@/components/ui/skeleton'
import { useMedia } from '@/lib/use-media'
import { Pagination } from './pagination'
import { usePreferences, type Density } from './preferences'
import { Cards, Grid } from './rows'
import { FilterChips, Toolbar } from './toolbar'
import type { DataTableProps } from './types'

const none: never[] = []

function RowSkeletons({ rows, density }: { rows: number; density: Density }) {
  return (
    <div className="border-t border-input bg-card">
      {Array.from({ length: rows }, (_, index) => (
        <div
          key={index}
          className={`flex items-center gap-6 border-b px-3 ${density === 'compact' ? 'h-10' : 'h-14'}`}
        >
          <Skeleton className="w-24" />
          <Skeleton className="grow" />
          <Skeleton className="w-20" />
        </div>
      ))}
    </div>
  )
}

function useView<T>(
  props: DataTableProps<T>,
  hidden: string[],
  onHidden: (hidden: string[]) => void,
): Table<T> {
  // The same as long as it says the same: with another one every row is drawn anew.
  const visibility = useMemo(() => Object.fromEntries(hidden.map((id) => [id, false])), [hidden])
  return useReactTable<T>({
    data: props.items ?? props.query.data?.items ?? none,
    columns: props.columns,
    getRowId: props.rowId,
    getCoreRowModel: getCoreRowModel(),
    manualPagination: true,
    manualSorting: true,
    state: { columnVisibility: visibility },
    defaultColumn: { enableHiding: true },
    onColumnVisibilityChange: (update) => {
      const next = typeof update === 'function' ? update(visibility) : update
      onHidden(Object.keys(next).filter((id) => next[id] === false))
    },
  })
}

function countText(props: DataTableProps<unknown>): string {
  const page = props.query.data
  if (!page) return ''
  const total = page.total.toLocaleString('en-US')
  return `${page.items.length} of ${page.more ? `more than ${total}` : total} ${props.noun}`
}

/** A page past the last one, as after its only row was decided, gives way to the last one. */
function useLastPage({ query, table }: Pick<DataTableProps<unknown>, 'query' | 'table'>): void {
  const { page, pageSize } = table.state
  const { data, isPlaceholderData } = query
  const total = data?.total ?? 0
  const past = page > 1 && total > 0 && data?.items.length === 0 && !isPlaceholderData
  const last = Math.ceil(total / pageSize)
  const { change } = table
  useEffect(() => {
    if (past) change({ page: last }, { replace: true })
  }, [past, last, change])
}

/** The one table of lists that the server pages, sorts, searches and counts; its state is in the address. */
export function DataTable<T>(props: DataTableProps<T>) {
  const {
    name,
    caption,
    query,
    table,
    searchLabel,
    filters = none,
    errorText,
    loadingText,
    empty,
    rowNote,
  } = props
  const [preferences, remember] = usePreferences(name, props.density ?? 'compact')
  const wide = useMedia('(min-width: 48rem)')
  const view = useView(props, wide ? preferences.hidden : none, (hidden) => remember({ hidden }))
  const { density } = preferences
  useLastPage(props)
  return (
    <div className="flex flex-col gap-4">
      <Toolbar
        view={view}
        table={table}
        count={countText(props as DataTableProps<unknown>)}
        searchLabel={searchLabel}
        filters={filters}
        density={density}
        onDensity={(next) => remember({ density: next })}
        onExport={props.onExport}
        wide={wide}
      />
      <FilterChips filters={filters} table={table} />
      <div>
        <Region
          query={query}
          errorText={errorText}
          loadingText={loadingText}
          skeleton={<RowSkeletons rows={8} density={density} />}
          isEmpty={(page) => page.total === 0}
          empty={
            table.narrowed ? (
              <EmptyState
                drawing="ledger"
                title={props.emptyFilteredTitle}
                text="Change or clear the filters."
                action={
                  <Button variant="outline" onClick={table.clear}>
                    Clear filters
                  </Button>
                }
              />
            ) : (
              empty
            )
          }
        >
          {(page) => (
            <>
              {wide ? (
                <Grid
                  view={view}
                  table={table}
                  caption={caption}
                  density={density}
                  concealed={props.concealed}
                  rowNote={rowNote}
                  selectedId={props.selectedId}
                />
              ) : (
                <Cards view={view} caption={caption} rowNote={rowNote} />
              )}
              <Pagination table={table} total={page.total} />
            </>
          )}
        </Region>
      </div>
    </div>
  )
}
