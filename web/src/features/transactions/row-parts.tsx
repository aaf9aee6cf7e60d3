import { ArrowDownToLine, ArrowUpFromLine, Ban, Minus, Plus, Undo2, X, type LucideIcon } from 'lucide-react'
import { Address } from '@/components/address'
import { Money } from '@/components/money'
import { Reference } from '@/components/reference'
import { clipName } from '@/lib/clip-name'
import { cn } from '@/lib/cn'
import { formatMoney, isNegative } from '@/lib/money'
import { movedNothing, movementTitle } from '@/lib/movement'
import type { Movement } from './api'
import { correctionNote, provenance, requestNote } from './history-words'

interface Part {
  item: Movement
}

const icons = {
  cancelled: Ban,
  refused: X,
  correction: Undo2,
  withdrawal: ArrowUpFromLine,
  deposit: ArrowDownToLine,
  lowered: Minus,
  credited: Plus,
} satisfies Record<string, LucideIcon>

function kindOf(item: Movement): keyof typeof icons {
  if (item.cancelled) return 'cancelled'
  if (movedNothing(item)) return 'refused'
  if (item.transaction_type === 'correction') return 'correction'
  if (item.source === 'withdrawal' || item.source === 'deposit') return item.source
  return isNegative(item.amount) ? 'lowered' : 'credited'
}

export function RowIcon({ item }: Part) {
  const Icon = icons[kindOf(item)]
  return (
    <span
      aria-hidden
      className={cn(
        'inline-flex size-8 shrink-0 items-center justify-center rounded-control bg-muted',
        movedNothing(item) ? 'text-muted-foreground' : 'text-primary',
      )}
    >
      <Icon className="size-4" />
    </span>
  )
}

/** Where a bonus comes from, as a row has room for it. */
function shortProvenance(item: Movement): string | null {
  const short = (name: string | null) => name && clipName(name)
  const [left, right] = item.pair_names ?? [null, null]
  return provenance({
    ...item,
    counterparty: short(item.counterparty),
    pair_names: item.pair_names && [short(left), short(right)],
  })
}

interface OpenButtonProps extends Part {
  onOpen: (item: Movement) => void
}

/** The title of a row. Pressing anywhere in the row presses it; resting there shows in full what the row clips. */
export function OpenButton({ item, onOpen }: OpenButtonProps) {
  const whole = provenance(item)
  return (
    <button
      type="button"
      title={whole === null || whole === shortProvenance(item) ? undefined : whole}
      className={cn(
        'rounded-mark text-left after:absolute after:inset-0',
        movedNothing(item) ? 'text-muted-foreground' : 'font-semibold',
      )}
      aria-haspopup="dialog"
      aria-label={`Details of ${movementTitle(item)}${
        movedNothing(item) ? '' : `, ${formatMoney(item.amount, { signed: true })}`
      }`}
      onClick={() => onOpen(item)}
    >
      {movementTitle(item)}
    </button>
  )
}

/** The second line of a row: whom it came from or went to, and what became of it. */
export function RowNote({ item }: Part) {
  if (item.transaction_type === 'correction') return correctionNote(item)
  if (item.source !== 'deposit' && item.source !== 'withdrawal') return shortProvenance(item)
  const note = requestNote(item)
  if (movedNothing(item)) return note
  if (item.source === 'deposit') {
    return (
      <>
        {note}
        {item.reference ? (
          <>
            , reference <Reference value={item.reference} short className="align-bottom" />
          </>
        ) : null}
      </>
    )
  }
  return (
    <>
      {note}
      {item.wallet_address ? (
        <>
          , to <Address value={item.wallet_address} short />
        </>
      ) : null}
      {item.payout_reference ? (
        <>
          , paid with{' '}
          <Reference value={item.payout_reference} short what="payout reference" className="align-bottom" />
        </>
      ) : null}
    </>
  )
}

export function BalanceAfter({ item }: Part) {
  return (
    <Money value={item.balance_after} className={item.in_balance ? undefined : 'text-muted-foreground'} />
  )
}
