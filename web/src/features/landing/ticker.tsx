import { Percent, Money } from '@/components/money'
import { cn } from '@/lib/cn'

const prices = [
  { symbol: 'BTC', price: '60000.00', change: '1.20' },
  { symbol: 'ETH', price: '3000.00', change: '-0.80' },
  { symbol: 'BNB', price: '500.00', change: '0.50' },
  { symbol: 'SOL', price: '150.00', change: '-1.50' },
  { symbol: 'XRP', price: '0.50', change: '0.30' },
]

/** Five fixed sample prices. They stand still and say that they are samples. */
export function Ticker() {
  return (
    <section aria-label="Sample prices" className="border-b bg-card text-compact">
      <div className="page-gutter mx-auto grid max-w-[1248px] gap-x-4 min-[350px]:grid-cols-2 gap-y-0.5 py-2.5 md:flex md:flex-wrap md:gap-x-9">
        <span className="text-muted-foreground">sample prices</span>
        {prices.map(({ symbol, price, change }) => (
          <span key={symbol} className="whitespace-nowrap">
            <span className="font-semibold">{symbol}</span> <Money value={price} className="mx-0.5" />{' '}
            <Percent
              value={change}
              signed
              className={cn(change.startsWith('-') ? 'text-destructive' : 'text-positive')}
            />
          </span>
        ))}
      </div>
    </section>
  )
}
