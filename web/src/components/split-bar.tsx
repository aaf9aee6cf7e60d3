import { cn } from '@/lib/cn'
import { formatMoney, formatPercent, fractionOf, percentOf, subtract, type Decimal } from '@/lib/money'

interface SplitBarProps {
  /** Price of the package that is split. */
  price: Decimal
  /** The plan's rates in percent; pairing at its highest. */
  rates: { pairing: Decimal; referral: Decimal; override: Decimal }
  /** Who gets a part, and when. With them the bar also marks what all bonuses can take together. */
  notes?: Record<'Pairing' | 'Referral' | 'Override' | 'Company', string>
}

function parts({ price, rates }: SplitBarProps) {
  const paid = [
    { name: 'Pairing' as const, prefix: 'up to ', rate: rates.pairing, colour: 'bg-chart-1' },
    { name: 'Referral' as const, prefix: '', rate: rates.referral, colour: 'bg-chart-2' },
    { name: 'Override' as const, prefix: '', rate: rates.override, colour: 'bg-chart-3' },
  ].map((part) => ({ ...part, amount: percentOf(price, part.rate) }))
  const rest = paid.reduce((left, part) => subtract(left, part.amount), price)
  const restRate = paid.reduce((left, part) => subtract(left, part.rate), '100')
  const company = {
    name: 'Company' as const,
    prefix: 'at least ',
    rate: restRate.replace(/\.00$/, ''),
    amount: rest,
    colour: 'border border-input bg-muted',
  }
  return [...paid, company]
}

/** The scale below the bar: its ends, and the most that bonuses can take. */
function Scale({ price, rest }: { price: Decimal; rest: Decimal }) {
  const most = subtract(price, rest)
  const share = fractionOf(most, price)
  return (
    <div className="tabular @container relative text-compact text-muted-foreground">
      <span
        aria-hidden
        className="absolute top-0 h-3 w-px bg-foreground"
        style={{ left: `${share * 100}%` }}
      />
      <p className="flex max-w-none justify-between pt-3">
        <span>{formatMoney('0')}</span>
        <span>{formatMoney(price)}</span>
      </p>
      <p
        className="w-fit md:absolute md:top-3 md:left-0"
        style={{ transform: `translateX(clamp(0px, ${share * 100}cqw - 50%, 100cqw - 100%))` }}
      >
        <strong className="font-semibold text-foreground">{formatMoney(most)}</strong>, the most all bonuses
        together can take
      </p>
    </div>
  )
}

/** One bar for a whole package: who gets what, to scale, with the same figures in words below it. */
export function SplitBar(props: SplitBarProps) {
  const shares = parts(props)
  const { price, notes } = props
  return (
    <div>
      <div aria-hidden className="flex h-8 gap-0.5 md:h-10">
        {shares.map((part) => (
          <span
            key={part.name}
            className={cn('min-w-1', part.colour)}
            style={{ flexGrow: Number(part.rate) }}
          />
        ))}
      </div>
      {notes ? <Scale price={price} rest={shares.at(-1)?.amount ?? '0'} /> : null}
      <dl className={cn('tabular mt-3 md:grid md:grid-cols-4 md:gap-x-6', notes && 'mt-5')}>
        {shares.map((part) => (
          <div
            key={part.name}
            className={cn(
              'flex flex-wrap items-baseline justify-between gap-x-3 border-b py-2 last:border-b-0 md:block md:border-b-0 md:py-0',
              notes && 'md:border-t md:border-input md:pt-3',
            )}
          >
            <dt className="flex items-center gap-2 text-muted-foreground max-md:text-foreground">
              <span aria-hidden className={cn('size-3 rounded-mark', part.colour)} />
              {part.name}
            </dt>
            <dd className="whitespace-nowrap">
              <span className="font-semibold">
                {part.prefix}
                {formatMoney(part.amount)}
              </span>{' '}
              <span className="inline-block min-w-10 text-right text-muted-foreground md:min-w-0">
                {formatPercent(part.rate)}
              </span>
            </dd>
            {notes ? (
              <dd className="basis-full text-compact text-muted-foreground">{notes[part.name]}</dd>
            ) : null}
          </div>
        ))}
      </dl>
    </div>
  )
}
