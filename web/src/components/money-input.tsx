import type { ComponentProps } from 'react'
import { cn } from '@/lib/cn'
import { formatMoney, parseAmount } from '@/lib/money'
import { Input } from './ui/input'

interface MoneyInputProps extends Omit<ComponentProps<typeof Input>, 'value' | 'onChange' | 'type'> {
  /** What the person typed; read it with `parseAmount`. */
  value: string
  onChange: (typed: string) => void
}

/** An amount in dollars: takes a dollar sign and commas, and is written out in full when left. */
export function MoneyInput({ value, onChange, onBlur, className, ...rest }: MoneyInputProps) {
  // Written out when left, and left as it is when entered again: a text that changes under the focus would
  // take the selection with it, and what is typed next would be added to the old amount.
  function writeOut() {
    const read = parseAmount(value)
    if ('value' in read) onChange(formatMoney(read.value).slice(1))
  }

  return (
    <span className="relative block">
      <span
        aria-hidden
        className="pointer-events-none absolute inset-y-0 left-3 flex items-center text-muted-foreground"
      >
        $
      </span>
      <Input
        inputMode="decimal"
        autoComplete="off"
        {...rest}
        value={value}
        onChange={(event) => onChange(event.target.value)}
        onBlur={(event) => {
          writeOut()
          onBlur?.(event)
        }}
        className={cn('tabular pl-7', className)}
      />
    </span>
  )
}

/** What to say about a typed amount that cannot be read, else null. Rules of the form come on top. */
export function amountProblem(typed: string): string | null {
  const read = parseAmount(typed)
  if ('value' in read) return null
  return {
    empty: 'Enter an amount',
    invalid: 'Enter an amount in dollars, such as 250.00',
    decimals: 'Use at most 2 decimals',
  }[read.problem]
}
