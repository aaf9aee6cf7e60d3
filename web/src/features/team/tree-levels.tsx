import { ChevronRight } from 'lucide-react'
import { Money } from '@/components/money'
import { StatusBadge } from '@/components/status-badge'
import { Button } from '@/components/ui/button'
import { cn } from '@/lib/cn'
import type { TreeChild } from './api'
import { fullNameOf, nameOf } from './names'
import { describePair, type MemberRow, type MoreRow, type TreeRow } from './tree-rows'

interface TreeLevelsProps {
  label: string
  rows: TreeRow[]
  onEnter: (id: string) => void
  onOpen: (row: MemberRow) => void
  onMore: (row: MoreRow) => void
}

const edges: Record<TreeChild['pair_state'], string> = {
  paying: 'border-primary',
  blocked: 'border-dashed border-warning',
  open: 'border-input',
  no_rate: 'border-dashed border-input',
}

/** One level a screen, for phones: each pair is a card of two lines. */
export function TreeLevels({ label, rows, onEnter, onOpen, onMore }: TreeLevelsProps) {
  const children = rows.filter((row): row is MemberRow => row.kind === 'member' && row.level === 2)
  const more = rows.find((row): row is MoreRow => row.kind === 'more' && row.level === 2)
  const pairs = new Map<number, MemberRow[]>()
  for (const row of children) {
    const number = row.child?.pair_number ?? 0
    pairs.set(number, [...(pairs.get(number) ?? []), row])
  }
  return (
    <ul aria-label={label} className="flex flex-col gap-3">
      {[...pairs].map(([number, members]) => (
        <li key={number} className="card-box">
          <p className="text-compact text-muted-foreground">
            {members[0]?.child ? describePair(members[0].child) : ''}
          </p>
          <ul className={cn('mt-2 border-l-2 pl-3', edges[members[0]?.child?.pair_state ?? 'open'])}>
            {members.map((row) => (
              <Person key={row.key} row={row} onEnter={onEnter} onOpen={onOpen} />
            ))}
          </ul>
        </li>
      ))}
      {more ? (
        <li>
          <Button
            variant="outline"
            className="w-full"
            busy={more.loading && 'Loading'}
            onClick={() => onMore(more)}
          >
            Show 50 more of {more.total.toLocaleString('en-US')}
          </Button>
        </li>
      ) : null}
    </ul>
  )
}

interface PersonProps {
  row: MemberRow
  onEnter: (id: string) => void
  onOpen: (row: MemberRow) => void
}

function Person({ row, onEnter, onOpen }: PersonProps) {
  const { node } = row
  return (
    <li className="flex min-h-14 items-center justify-between gap-3 border-b py-1.5 last:border-b-0">
      <button type="button" className="min-w-0 grow rounded-mark text-left" onClick={() => onOpen(row)}>
        <span className="block font-semibold">{fullNameOf(node)}</span>
        <span className="block text-compact text-muted-foreground">
          {row.place}. {nameOf(node)}, <Money value={node.package_value} />
        </span>
      </button>
      <StatusBadge status={node.funded ? 'funded' : 'not funded'} />
      {node.direct_referrals > 0 ? (
        <Button
          variant="ghost"
          size="icon"
          aria-label={`Open ${nameOf(node)}, ${node.direct_referrals} direct referrals`}
          onClick={() => onEnter(node.id)}
        >
          <ChevronRight aria-hidden />
        </Button>
      ) : (
        <span className="w-11 shrink-0" />
      )}
    </li>
  )
}
