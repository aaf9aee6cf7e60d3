import { cn } from '@/lib/cn'
import { formatMoney, formatPercent, isNegative, type Decimal } from '@/lib/money'

/** A dash to the eye, words to a screen reader: what is not known is not zero. */
export function Unknown() {
  return (
    <span>
      <span aria-hidden>—</span>
      <span className="sr-only">not available</span>
    </span>
  )
}

/** Read aloud, a minus sign may be skipped; the word is not. */
function Signed({ text, negative }: { text: string; negative: boolean }) {
  if (!negative) return text
  return (
    <>
      <span aria-hidden>{text}</span>
      <span className="sr-only">minus {text.slice(1)}</span>
    </>
  )
}

// Long figures step down by the width of their box, never wrap and never clip.
function heroSteps(length: number): string {
  if (length <= 9) return 'text-hero'
  if (length <= 12) return 'text-figure-mid @min-[22rem]:text-hero'
  return 'text-figure @min-[20rem]:text-figure-mid @min-[26rem]:text-hero'
}

interface MoneyProps {
  /** Decimal text as the API writes it; null when it is not known, which is not the same as zero. */
  value: Decimal | null | undefined
  /** A movement carries its sign; a balance carries a minus only. */
  signed?: boolean
  size?: 'inherit' | 'figure' | 'hero'
  className?: string
}

export function Money({ value, signed = false, size = 'inherit', className }: MoneyProps) {
  if (value === null || value === undefined) return <Unknown />
  const text = formatMoney(value, { signed })
  const figure = size !== 'inherit'
  const content = (
    <span
      className={cn(
        'tabular whitespace-nowrap',
        figure && 'font-title font-semibold',
        size === 'figure' && ['text-figure', text.length > 9 && '@max-[12rem]:text-lead'],
        size === 'hero' && ['block tracking-[-0.02em]', heroSteps(text.length)],
        className,
      )}
    >
      <Signed text={text} negative={isNegative(value)} />
    </span>
  )
  return size === 'hero' ? <span className="@container block">{content}</span> : content
}

interface PercentProps {
  value: Decimal | null | undefined
  signed?: boolean
  className?: string
}

export function Percent({ value, signed = false, className }: PercentProps) {
  if (value === null || value === undefined) return <Unknown />
  return (
    <span className={cn('tabular whitespace-nowrap', className)}>
      <Signed text={formatPercent(value, { signed })} negative={value.startsWith('-')} />
    </span>
  )
}
