import { cn } from '@/lib/cn'
import { formatMoney, formatPercent, percentOf, subtract, type Decimal } from '@/lib/money'

interface SplitBarProps {
  /** Price of the package that is split. */
  price: Decimal
  /** The plan's rates in percent; pairing at its highest. */
  rates: { pairing: Decimal; referral: Decimal; override: Decimal }
}

function parts({ price, rates }: SplitBarProps) {
  const paid = [
    { name: 'Pairing', prefix: 'up to ', rate: rates.pairing, colour: 'bg-chart-1' },
    { name: 'Referral', prefix: '', rate: rates.referral, colour: 'bg-chart-2' },
    { name: 'Override', prefix: '', rate: rates.override, colour: 'bg-chart-3' },
  ].map((part) => ({ ...part, amount: percentOf(price, part.rate) }))
  const rest = paid.reduce((left, part) => subtract(left, part.amount), price)
  const restRate = paid.reduce((left, part) => subtract(left, part.rate), '100')
  const company = {
    name: 'Company',
    prefix: 'at least ',
    rate: restRate.replace(/\.00$/, ''),
    amount: rest,
    colour: 'border border-input bg-muted',
  }
  return [...paid, company]
}

/** One bar for a whole package: who gets what, to scale, with the same figures in words below it. */
export function SplitBar(props: SplitBarProps) {
  const shares = parts(props)
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
      <dl className="tabular mt-3 md:grid md:grid-cols-4 md:gap-x-6">
        {shares.map((part) => (
          <div
            key={part.name}
            className="flex items-baseline justify-between gap-3 border-b py-2 last:border-b-0 md:block md:border-b-0 md:py-0"
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
          </div>
        ))}
      </dl>
    </div>
  )
}
