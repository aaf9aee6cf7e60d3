import { cn } from '@/lib/cn'
import { formatMoney, toCents, type Decimal } from '@/lib/money'

interface NetPoint {
  label: string
  value: Decimal
}

interface NetLineProps {
  points: NetPoint[]
  /** The typical member: the point that is marked. */
  typical: string
}

/** Where the percentiles of the net result stand on one line, with zero and the median marked. */
export function NetLine({ points, typical }: NetLineProps) {
  const cents = points.map(({ value }) => Number(toCents(value)))
  const low = Math.min(0, ...cents)
  const span = Math.max(0, ...cents) - low || 1
  const place = (value: number) => `${((value - low) / span) * 100}%`
  return (
    <div aria-hidden className="px-2 py-6">
      <div className="relative h-12">
        <span className="absolute inset-x-0 top-5 h-0.5 bg-border" />
        <span
          className="absolute top-[19px] h-1 bg-chart-5"
          style={{ left: place(Math.min(...cents)), right: `calc(100% - ${place(0)})` }}
        />
        <span className="absolute top-2 h-7 w-px bg-foreground" style={{ left: place(0) }} />
        <span
          className="absolute top-9 -translate-x-1/2 text-compact font-semibold"
          style={{ left: place(0) }}
        >
          $0
        </span>
        {points.map(({ label, value }, index) => (
          <span
            key={label}
            title={`${label}: ${formatMoney(value)}`}
            className={cn(
              'absolute -translate-x-1/2',
              label === typical ? 'top-2 h-6 w-1.5 bg-lantern' : 'top-4 size-2.5 rounded-mark bg-primary',
            )}
            style={{ left: place(cents[index] ?? 0) }}
          />
        ))}
      </div>
    </div>
  )
}
