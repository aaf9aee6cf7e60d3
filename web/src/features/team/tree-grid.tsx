import { useWindowVirtualizer } from '@tanstack/react-virtual'
import { useLayoutEffect, useRef, useState } from 'react'
import { cn } from '@/lib/cn'
import { columns, grid, TreeGridRow, type Spot } from './tree-row'
import type { MemberRow, MoreRow, TreeRow } from './tree-rows'

interface TreeGridProps {
  label: string
  rows: TreeRow[]
  /** The signed-in member's profile. */
  selfId: string
  onToggle: (row: MemberRow) => void
  onOpen: (row: MemberRow) => void
  onMore: (row: MoreRow) => void
}

const rowHeight = 57
const page = 10

/** The tree as a table that opens. One tab stop; arrows move, Right opens and enters, Left leaves and closes. */
export function TreeGrid({ label, rows, selfId, onToggle, onOpen, onMore }: TreeGridProps) {
  const body = useRef<HTMLDivElement>(null)
  const [spot, setSpot] = useState<Spot>({ key: rows[0]?.key ?? '', cell: null })
  const wanted = useRef<Spot>(null)
  const [margin, setMargin] = useState(0)
  // What stands above may have grown by the time other rows are drawn.
  useLayoutEffect(() => {
    setMargin(Math.round((body.current?.getBoundingClientRect().top ?? 0) + window.scrollY))
  }, [rows])
  const virtual = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => rowHeight,
    overscan: 12,
    scrollMargin: margin,
    getItemKey: (index) => rows[index]?.key ?? index,
  })
  // A row that left (its branch was closed) hands the tab stop to the first one.
  const current = rows.some((row) => row.key === spot.key) ? spot : { key: rows[0]?.key ?? '', cell: null }

  useLayoutEffect(() => {
    const target = wanted.current
    if (!target) return
    const row = body.current?.querySelector<HTMLElement>(`[data-row="${CSS.escape(target.key)}"]`)
    if (!row) return
    const element =
      target.cell === null ? row : row.querySelector<HTMLElement>(`[data-cell="${target.cell}"]`)
    element?.focus({ preventScroll: true })
    element?.scrollIntoView({ block: 'nearest' })
    wanted.current = null
  })

  function go(index: number, cell: number | null = null) {
    const row = rows[Math.min(rows.length - 1, Math.max(0, index))]
    if (!row) return
    const next = { key: row.key, cell: row.kind === 'more' ? null : cell }
    wanted.current = next
    setSpot(next)
    virtual.scrollToIndex(rows.indexOf(row), { align: 'auto' })
  }

  function right(row: TreeRow, index: number, cell: number | null) {
    if (row.kind === 'more') return
    if (cell === null && row.expanded === false) onToggle(row)
    else if (cell === null) go(index, 0)
    else if (cell < columns.length - 1) go(index, cell + 1)
  }

  function left(row: TreeRow, index: number, cell: number | null) {
    if (cell !== null) go(index, cell === 0 ? null : cell - 1)
    else if (row.kind === 'member' && row.expanded) onToggle(row)
    else if (row.parent !== null) go(rows.findIndex((other) => other.key === row.parent))
  }

  function onKeyDown(event: React.KeyboardEvent) {
    const index = rows.findIndex((row) => row.key === current.key)
    const row = rows[index]
    if (!row) return
    const { cell } = current
    const moves: Record<string, () => void> = {
      ArrowDown: () => go(index + 1, cell),
      ArrowUp: () => go(index - 1, cell),
      ArrowRight: () => right(row, index, cell),
      ArrowLeft: () => left(row, index, cell),
      PageDown: () => go(index + page, cell),
      PageUp: () => go(index - page, cell),
      Home: () => go(0),
      End: () => go(rows.length - 1),
      Enter: () => (row.kind === 'more' ? onMore(row) : onOpen(row)),
    }
    const move = moves[event.key]
    if (!move) return
    event.preventDefault()
    move()
  }

  return (
    <div className="card-box overflow-x-auto">
      <div
        role="treegrid"
        tabIndex={-1}
        aria-label={label}
        aria-rowcount={rows.length + 1}
        aria-colcount={columns.length}
        className="min-w-[992px]"
        onKeyDown={onKeyDown}
      >
        <div role="rowgroup">
          <div
            role="row"
            aria-rowindex={1}
            className={cn(grid, 'border-b pb-2.5 text-compact font-medium text-muted-foreground')}
          >
            {columns.map((name, index) => (
              <div
                key={name}
                role="columnheader"
                className={cn('px-2', index === 0 && 'pl-0', [1, 3, 5, 6].includes(index) && 'text-right')}
              >
                {name}
              </div>
            ))}
          </div>
        </div>
        <div role="rowgroup" ref={body} className="relative" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map((item) => {
            const row = rows[item.index]
            if (!row) return null
            return (
              <TreeGridRow
                key={item.key}
                row={row}
                index={item.index}
                spot={current}
                self={row.key === selfId}
                last={item.index === rows.length - 1}
                measure={virtual.measureElement}
                style={{ transform: `translateY(${item.start - margin}px)` }}
                onFocus={setSpot}
                onToggle={onToggle}
                onOpen={onOpen}
                onMore={onMore}
              />
            )
          })}
        </div>
      </div>
    </div>
  )
}
