import { cn } from '@/lib/cn'
import { isNegative, unsigned, type Decimal } from '@/lib/money'
import { movedNothing } from '@/lib/movement'
import { Money } from './money'

interface MovementAmountProps {
  item: { status: string; amount: Decimal }
  /** A dash instead of an amount that moved nothing, where the title has it. */
  dash?: boolean
  /** Green for what came in, red for what went out. */
  coloured?: boolean
  className?: string
}

/** The signed amount of a movement. A refused or cancelled request is none: it has no sign and is muted. */
export function MovementAmount({ item, dash, coloured, className }: MovementAmountProps) {
  if (!movedNothing(item)) {
    const colour = coloured && (isNegative(item.amount) ? 'text-destructive' : 'text-positive')
    return <Money value={item.amount} signed className={cn(colour, className)} />
  }
  const muted = cn('font-normal text-muted-foreground', className)
  if (!dash) return <Money value={unsigned(item.amount)} className={muted} />
  return (
    <span className={muted}>
      <span aria-hidden>—</span>
      <span className="sr-only">nothing moved</span>
    </span>
  )
}
