import type { UseQueryResult } from '@tanstack/react-query'
import type { ColumnDef, RowData } from '@tanstack/react-table'
import type { ReactNode } from 'react'
import type { TableController } from './table-state'

declare module '@tanstack/react-table' {
  // The names of the type parameters are the library's.
  // eslint-disable-next-line @typescript-eslint/no-unused-vars
  interface ColumnMeta<TData extends RowData, TValue> {
    /** The name in the column menu and on phone cards. */
    label: string
    align?: 'right'
    /** The server's name of the column to sort by; without it the column cannot be sorted. */
    sort?: string
    /** Where the cell goes on a phone card; 'hidden' leaves it to the details. Default 'value'. */
    phone?: 'title' | 'amount' | 'status' | 'date' | 'actions' | 'hidden' | 'value'
    /** A fifth of the width, or as little as 8 rem where the others need theirs; what it shows is cut to it. */
    yields?: boolean
    /** May be left out for want of room, the lowest number first: what it says stands elsewhere too, or matters least. */
    spare?: number
    /** Columns that cannot be switched off. */
    fixed?: boolean
  }
}

export interface TablePage<T> {
  items: T[]
  total: number
  /** The total is at least this many. */
  more?: boolean
}

export interface TableFilter {
  /** A key of the table's filters. */
  key: string
  label: string
  /** Without options a day is chosen, as 2026-11-25. */
  options?: { value: string; label: string }[]
}

export interface DataTableProps<T> {
  /** Under which density and columns are remembered. */
  name: string
  /** For the announcement "25 of 12,480 deposits". */
  noun: string
  caption: string
  columns: ColumnDef<T>[]
  query: UseQueryResult<TablePage<T>>
  /** The rows of the page, where more is known of them than when it was read. */
  items?: T[]
  /** Columns that say the same on every row of this view; phones keep them. */
  concealed?: readonly string[]
  table: TableController
  rowId: (row: T) => string
  searchLabel?: string
  filters?: TableFilter[]
  errorText: string
  loadingText: string
  /** There are no rows at all. */
  empty: ReactNode
  /** Shown when a search or filter finds nothing. */
  emptyFilteredTitle: string
  /** A line of its own under a row, such as a flag. */
  rowNote?: (row: T) => ReactNode
  selectedId?: string | null
  /** Writes the filtered rows to a file; tells how many rows are done. */
  onExport?: (progress: (rows: number) => void) => Promise<void>
  density?: 'compact' | 'comfortable'
}
