import { CircleAlert } from 'lucide-react'
import type { Coverage } from '@/lib/admin-overview'
import { compare } from '@/lib/money'
import { Gauge } from './gauge'
import { Money, Percent } from './money'

/** A place on the gauge, which ends at the next whole hundred above the ratio. */
function scale(ratio: string): { value: number; max: number } {
  const value = Math.max(0, Number(ratio))
  return { value, max: Math.max(200, Math.ceil(value / 100) * 100) }
}

/** The ratio, its gauge with 100% marked, and the four parts it is made of. */
export function CoverageFigures({ coverage }: { coverage: Coverage }) {
  const { ratio } = coverage
  const { value, max } = scale(ratio ?? '0')
  const short = ratio !== null && compare(ratio, '100') < 0
  const parts = [
    ['Approved cash-in', coverage.approved_cash_in],
    ['Approved withdrawals', coverage.approved_withdrawals],
    ['Withdrawable now', coverage.withdrawable],
    ['Pending withdrawals', coverage.pending],
  ] as const
  return (
    <>
      <p className="tabular mt-2 font-title text-figure font-semibold">
        <Percent value={ratio} className={short ? 'text-destructive' : undefined} />
      </p>
      <p className="text-muted-foreground">Net cash-in against what members can withdraw</p>
      {ratio === null ? (
        <p className="mt-4">Nothing can be withdrawn and nothing is pending.</p>
      ) : (
        <Gauge
          className="mt-4"
          label="Coverage"
          value={value}
          max={max}
          ticks={12}
          valueText={`${ratio}%`}
          marks={[
            // At a large ratio the start and 100% stand too close for two words.
            ...(max < 600 ? [{ at: 0, label: '0%' }] : []),
            { at: 100, label: '100%', strong: true },
            { at: max, label: `${max.toLocaleString('en-US')}%` },
          ]}
        />
      )}
      {short ? (
        <p className="mt-2 flex gap-2 text-destructive">
          <CircleAlert className="mt-0.5 size-4" aria-hidden />
          Below what members can withdraw.
        </p>
      ) : null}
      <dl className="mt-4 border-t">
        {parts.map(([label, amount]) => (
          <div key={label} className="flex justify-between gap-4 border-b py-2.5">
            <dt className="text-muted-foreground">{label}</dt>
            <dd>
              <Money value={amount} />
            </dd>
          </div>
        ))}
      </dl>
      <p className="mt-3 text-compact text-muted-foreground">
        Treasury balance is not observed by this software.
      </p>
    </>
  )
}
