import type { ReactNode } from 'react'
import { Money } from '@/components/money'
import { cn } from '@/lib/cn'
import { compare, type Decimal } from '@/lib/money'
import type { Statement } from './api'
import { utcDay } from './periods'

interface LineProps {
  label: ReactNode
  value: Decimal
  signed?: boolean
  strong?: boolean
}

function Line({ label, value, signed, strong }: LineProps) {
  return (
    <div
      className={cn('flex justify-between gap-6 py-1.5', strong && 'border-t font-semibold first:border-t-0')}
    >
      <dt className={strong ? undefined : 'text-muted-foreground'}>{label}</dt>
      <dd>
        <Money value={value} signed={signed} />
      </dd>
    </div>
  )
}

/** Opening, in and out by type, closing: a sum that can be checked line by line. */
export function StatementFigures({ statement }: { statement: Statement }) {
  const { in: received, out } = statement
  const lines = [
    { label: 'Referral bonuses', value: received.referral },
    { label: 'Pairing bonuses', value: received.pairing },
    { label: 'Override bonuses', value: received.override },
  ]
  const rare = [
    { label: 'Withdrawals that were not paid, returned', value: received.returned },
    { label: 'Bonuses lowered', value: `-${out.lowered}` },
  ].filter(({ value }) => compare(value, '0') !== 0)
  return (
    <section aria-label="Summary" className="card-box max-w-xl print:max-w-none">
      <dl>
        <Line label={`Opening balance, ${utcDay(statement.from)}`} value={statement.opening} strong />
        {lines.map((one) => (
          <Line key={one.label} {...one} signed />
        ))}
        <Line label="Withdrawals approved" value={`-${out.withdrawals}`} signed />
        {rare.map((one) => (
          <Line key={one.label} {...one} signed />
        ))}
        <Line
          label={statement.running ? 'Balance now' : `Closing balance, ${utcDay(statement.to)}`}
          value={statement.closing}
          strong
        />
      </dl>
      {compare(statement.deposits, '0') === 0 ? null : (
        <p className="mt-3 text-compact text-muted-foreground">
          Deposits approved, cash-in and not part of this balance:{' '}
          <Money value={statement.deposits} className="font-semibold" />
        </p>
      )}
    </section>
  )
}
