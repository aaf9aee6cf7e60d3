import { flexRender, type Cell, type Header, type Table } from '@tanstack/react-table'
import { ArrowDown, ArrowUp, ChevronsUpDown } from 'lucide-react'
import { Fragment, memo, type ReactNode } from 'react'
import { cn } from '@/lib/cn'
import type { Density } from './preferences'
import type { TableController } from './table-state'
import { useFit } from './use-fit'

function SortButton({
  sort,
  table,
  right,
  children,
}: {
  sort: string
  table: TableController
  right: boolean
  children: ReactNode
}) {
  const [column, direction] = table.state.sort.split('.')
  const active = column === sort
  const next = active && direction === 'asc' ? 'desc' : 'asc'
  const Icon = !active ? ChevronsUpDown : direction === 'asc' ? ArrowUp : ArrowDown
  return (
    <button
      type="button"
      onClick={() => table.change({ sort: `${sort}.${next}` })}
      className={cn(
        'group inline-flex min-h-6 items-center gap-1 rounded-mark text-left hover:text-foreground pointer-coarse:min-h-11',
        // The word stands above its figures, whether the arrow is to be seen or not.
        right && 'flex-row-reverse text-right',
      )}
    >
      {children}
      <Icon
        className={cn(
          'size-3.5',
          !active && 'opacity-0 group-hover:opacity-100 group-focus-visible:opacity-100',
        )}
        aria-hidden
      />
    </button>
  )
}

function HeaderCell<T>({
  header,
  table,
  first,
  fits,
}: {
  header: Header<T, unknown>
  table: TableController
  first: boolean
  fits: boolean
}) {
  const meta = header.column.columnDef.meta
  const [column, direction] = table.state.sort.split('.')
  const sorted = meta?.sort !== undefined && meta.sort === column
  const content = flexRender(header.column.columnDef.header, header.getContext())
  return (
    <th
      scope="col"
      aria-sort={sorted ? (direction === 'asc' ? 'ascending' : 'descending') : undefined}
      className={cn(
        'z-10 h-10 border-b border-input bg-card px-[7px] text-left text-caption font-medium text-muted-foreground',
        meta?.align === 'right' && 'text-right',
        first && 'pl-3',
        // In a box that scrolls sideways it would stick to the box, which does not scroll down.
        fits ? 'sticky top-0' : first && 'sticky left-0 z-20',
      )}
    >
      {meta?.sort ? (
        <SortButton sort={meta.sort} table={table} right={meta.align === 'right'}>
          {content}
        </SortButton>
      ) : (
        content
      )}
    </th>
  )
}

interface BodyCellProps<T> {
  cell: Cell<T, unknown>
  first: boolean
  noted: boolean
  fits: boolean
}

function PlainBodyCell<T>({ cell, first, noted, fits }: BodyCellProps<T>) {
  const meta = cell.column.columnDef.meta
  return (
    <td
      className={cn(
        'px-[7px] text-compact',
        !noted && 'border-b',
        meta?.align === 'right' && 'tabular text-right',
        first && 'pl-3 font-semibold',
        first && !fits && 'sticky left-0 bg-inherit',
        // Its longest text has no say in the width: the cell asks for a share, and what it shows is cut.
        meta?.yields && 'w-1/5 max-w-0 min-w-32',
      )}
    >
      {flexRender(cell.column.columnDef.cell, cell.getContext())}
    </td>
  )
}

/** Drawn again only when its row or its column is another: opening a row's details leaves the other rows alone. */
const BodyCell = memo(PlainBodyCell) as typeof PlainBodyCell

interface GridProps<T> {
  view: Table<T>
  table: TableController
  caption: string
  density: Density
  concealed?: readonly string[]
  rowNote?: (row: T) => ReactNode
  selectedId?: string | null
}

const none: readonly string[] = []

/** Columns that may be left out, in the order in which they are. */
function spareColumns<T>(view: Table<T>, concealed: readonly string[]): string[] {
  return view
    .getVisibleLeafColumns()
    .filter(({ id, columnDef }) => columnDef.meta?.spare !== undefined && !concealed.includes(id))
    .sort((one, other) => (one.columnDef.meta?.spare ?? 0) - (other.columnDef.meta?.spare ?? 0))
    .map(({ id }) => id)
}

function LeftOut<T>({ view, dropped }: { view: Table<T>; dropped: readonly string[] }) {
  if (dropped.length === 0) return null
  const labels = dropped.map((id) => view.getColumn(id)?.columnDef.meta?.label ?? id)
  return <p className="pt-2 text-caption text-muted-foreground">Not enough room for: {labels.join('; ')}.</p>
}

/** Rows as a table, with as many columns as there is room for. The header stays in sight. */
export function Grid<T>(props: GridProps<T>) {
  const { view, table, caption, density, concealed = none, rowNote, selectedId } = props
  const rows = view.getRowModel().rows
  const columns = view.getVisibleLeafColumns().map(({ id }) => id)
  const { box, fits, dropped } = useFit(
    spareColumns(view, concealed),
    [density, ...columns, ...concealed].join(),
    rows.map(({ id }) => id).join(),
  )
  const isShown = ({ column }: { column: { id: string } }) =>
    !concealed.includes(column.id) && !dropped.includes(column.id)
  return (
    <>
      <div ref={box} className={cn('border-t border-input bg-card', !fits && 'scroll-px-24 overflow-x-auto')}>
        {/* A column is at least as wide as its longest word: elsewhere a word may break anywhere. */}
        <table className="w-full border-separate border-spacing-0 wrap-break-word">
          <caption className="sr-only">{caption}</caption>
          <thead>
            {view.getHeaderGroups().map((group) => (
              <tr key={group.id}>
                {group.headers.filter(isShown).map((header, index) => (
                  <HeaderCell key={header.id} header={header} table={table} first={index === 0} fits={fits} />
                ))}
              </tr>
            ))}
          </thead>
          <tbody>
            {rows.map((row) => {
              const note = rowNote?.(row.original)
              const cells = row.getVisibleCells().filter(isShown)
              const ground = row.id === selectedId ? 'bg-accent' : 'bg-card hover:bg-muted'
              return (
                <Fragment key={row.id}>
                  <tr className={cn(ground, density === 'compact' ? 'h-10' : 'h-14')} data-row={row.id}>
                    {cells.map((cell, index) => (
                      <BodyCell
                        key={cell.id}
                        cell={cell}
                        first={index === 0}
                        noted={Boolean(note)}
                        fits={fits}
                      />
                    ))}
                  </tr>
                  {note ? (
                    <tr className={row.id === selectedId ? 'bg-accent' : 'bg-card'}>
                      <td
                        colSpan={cells.length}
                        className="h-[26px] border-b px-3 pb-1.5 text-caption text-warning"
                      >
                        {note}
                      </td>
                    </tr>
                  ) : null}
                </Fragment>
              )
            })}
          </tbody>
        </table>
      </div>
      <LeftOut view={view} dropped={dropped} />
    </>
  )
}

function at<T>(cells: Cell<T, unknown>[], place: string): Cell<T, unknown>[] {
  return cells.filter((cell) => (cell.column.columnDef.meta?.phone ?? 'value') === place)
}

function render<T>(cells: Cell<T, unknown>[]): ReactNode {
  return cells.map((cell) => (
    <Fragment key={cell.id}>{flexRender(cell.column.columnDef.cell, cell.getContext())}</Fragment>
  ))
}

interface CardProps<T> {
  id: string
  visibleCells: Cell<T, unknown>[]
  note: ReactNode
}

function PlainCard<T>({ id, visibleCells, note }: CardProps<T>) {
  const values = at(visibleCells, 'value')
  return (
    <li data-row={id} className="flex flex-col gap-2 border-b bg-card px-4 py-4">
      <div className="flex items-start justify-between gap-3">
        <span className="min-w-0 font-semibold">{render(at(visibleCells, 'title'))}</span>
        <span className="tabular shrink-0 font-semibold">{render(at(visibleCells, 'amount'))}</span>
      </div>
      <div className="flex items-center justify-between gap-3 text-muted-foreground empty:hidden">
        <span className="tabular min-w-0">{render(at(visibleCells, 'date'))}</span>
        <span className="shrink-0">{render(at(visibleCells, 'status'))}</span>
      </div>
      {values.length > 0 ? (
        <dl className="flex flex-col gap-1">
          {values.map((cell) => (
            <div key={cell.id} className="flex items-baseline justify-between gap-4">
              <dt className="text-muted-foreground">{cell.column.columnDef.meta?.label}</dt>
              <dd className="tabular min-w-0 text-right">
                {flexRender(cell.column.columnDef.cell, cell.getContext())}
              </dd>
            </div>
          ))}
        </dl>
      ) : null}
      {note ? <div className="text-compact text-warning">{note}</div> : null}
      <div className="flex gap-2 empty:hidden">{render(at(visibleCells, 'actions'))}</div>
    </li>
  )
}

const Card = memo(PlainCard) as typeof PlainCard

/** Rows as cards, for phones: title and amount, date and status, the other columns as pairs, actions below. */
export function Cards<T>({ view, caption, rowNote }: Pick<GridProps<T>, 'view' | 'caption' | 'rowNote'>) {
  return (
    <ul aria-label={caption} className="-mx-4 border-t">
      {view.getRowModel().rows.map((row) => (
        <Card key={row.id} id={row.id} visibleCells={row.getVisibleCells()} note={rowNote?.(row.original)} />
      ))}
    </ul>
  )
}
