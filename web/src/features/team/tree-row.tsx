import { ChevronDown, ChevronRight, Clock } from 'lucide-react'
import type { ReactNode } from 'react'
import { Money } from '@/components/money'
import { StatusBadge } from '@/components/status-badge'
import { Button } from '@/components/ui/button'
import { cn } from '@/lib/cn'
import { formatDay } from '@/lib/dates'
import { fullNameOf, nameOf } from './names'
import { Gutter, insetOf } from './tree-gutter'
import { describePair, type MemberRow, type MoreRow, type TreeRow } from './tree-rows'

export const columns = [
  'Name',
  'Position',
  'Pair',
  'Package',
  'Funded',
  'Direct referrals',
  'Joined',
] as const
export const grid =
  'grid grid-cols-[minmax(280px,1fr)_72px_minmax(168px,200px)_112px_124px_124px_112px] items-center'

/** Where the keyboard stands: a row, and in it a cell once Right went in. */
export interface Spot {
  key: string
  cell: number | null
}

interface RowProps {
  row: TreeRow
  spot: Spot
  index: number
  self: boolean
  last: boolean
  style: React.CSSProperties
  measure: (element: Element | null) => void
  onFocus: (spot: Spot) => void
  onToggle: (row: MemberRow) => void
  onOpen: (row: MemberRow) => void
  onMore: (row: MoreRow) => void
}

export function TreeGridRow(props: RowProps) {
  const { row, spot, index, last, style, measure, onFocus } = props
  const here = spot.key === row.key
  const shared = {
    role: 'row',
    'data-row': row.key,
    'data-index': index,
    'aria-rowindex': index + 2,
    'aria-level': row.level,
    tabIndex: here && spot.cell === null ? 0 : -1,
    style,
    ref: measure,
    onFocus: (event: React.FocusEvent) =>
      event.target === event.currentTarget && onFocus({ key: row.key, cell: null }),
    className: cn(
      grid,
      'absolute inset-x-0 min-h-14 bg-card -outline-offset-2 hover:bg-muted',
      !last && 'border-b',
    ),
  } as const
  if (row.kind === 'more') return <More {...props} row={row} shared={shared} />
  return (
    <div
      {...shared}
      aria-expanded={row.expanded ?? undefined}
      aria-posinset={row.place}
      aria-setsize={row.siblings}
    >
      <Cells {...props} row={row} />
    </div>
  )
}

type Shared = React.ComponentProps<'div'>

function More({ row, onMore, shared }: RowProps & { row: MoreRow; shared: Shared }) {
  return (
    <div {...shared}>
      <div
        role="gridcell"
        aria-colspan={columns.length}
        className="relative col-span-7 flex min-h-14 items-center"
      >
        <Gutter brackets={row.brackets} />
        <span style={{ paddingLeft: insetOf(row.level) }}>
          {row.loading ? (
            <span role="status" className="text-muted-foreground">
              Loading
            </span>
          ) : (
            <Button variant="link" size="text" tabIndex={-1} onClick={() => onMore(row)}>
              Show 50 more of {row.total.toLocaleString('en-US')}
            </Button>
          )}
        </span>
      </div>
    </div>
  )
}

function Cells({ row, spot, self, onFocus, onToggle, onOpen }: RowProps & { row: MemberRow }) {
  const { node, child } = row
  const cells: ReactNode[] = [
    <span
      key="name"
      className="relative flex min-h-14 min-w-0 items-center"
      style={{ paddingLeft: insetOf(row.level) }}
    >
      <Gutter brackets={row.brackets} />
      <Toggle row={row} onToggle={onToggle} />
      <button type="button" tabIndex={-1} className="min-w-0 truncate text-left" onClick={() => onOpen(row)}>
        <span className="font-semibold" title={fullNameOf(node)}>
          {fullNameOf(node)}
        </span>
        <span className="ml-2 text-compact text-muted-foreground">
          {nameOf(node)}
          {self ? ', you' : ''}
        </span>
      </button>
    </span>,
    child?.position,
    child ? <Pair key="pair" row={row} /> : null,
    <Money key="package" value={node.package_value} />,
    <StatusBadge key="funded" status={node.funded ? 'funded' : 'not funded'} />,
    node.direct_referrals.toLocaleString('en-US'),
    formatDay(new Date(node.created_at)),
  ]
  const right = [1, 3, 5, 6]
  return cells.map((cell, index) => {
    const name = columns[index] ?? ''
    const here = spot.key === row.key && spot.cell === index
    return (
      <div
        key={name}
        role="gridcell"
        data-cell={index}
        tabIndex={here ? 0 : -1}
        onFocus={(event) => event.target === event.currentTarget && onFocus({ key: row.key, cell: index })}
        className={cn(
          'min-w-0 rounded-mark px-2',
          index === 0 && 'pl-0',
          right.includes(index) && 'tabular text-right',
          index === 6 && 'text-muted-foreground',
        )}
      >
        {cell}
      </div>
    )
  })
}

function Toggle({ row, onToggle }: { row: MemberRow; onToggle: (row: MemberRow) => void }) {
  if (row.expanded === null) return null
  const Icon = row.expanded ? ChevronDown : ChevronRight
  return (
    <button
      type="button"
      tabIndex={-1}
      aria-label={`${row.expanded ? 'Close' : 'Open'} ${nameOf(row.node)}`}
      className="absolute flex size-7 items-center justify-center rounded-badge text-primary hover:bg-accent"
      style={{ left: insetOf(row.level) - 28 }}
      onClick={() => onToggle(row)}
    >
      <Icon className="size-4" aria-hidden />
    </button>
  )
}

function Pair({ row }: { row: MemberRow }) {
  if (!row.child) return null
  const text = describePair(row.child)
  if (row.child.pair_state !== 'blocked') {
    return <span className={row.child.pair_state === 'paying' ? '' : 'text-muted-foreground'}>{text}</span>
  }
  return (
    <span className="inline-flex items-start gap-1.5 text-warning">
      <Clock className="mt-1 size-4" aria-hidden />
      {text}
    </span>
  )
}
