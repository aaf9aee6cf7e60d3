import { useQuery } from '@tanstack/react-query'
import { Figure } from '@/components/figure'
import { FigureRow, FigureRowSkeleton } from '@/components/figure-row'
import { Money } from '@/components/money'
import { Region } from '@/components/region'
import type { Balance } from '@/lib/member'
import { compare, formatMoney, type Decimal } from '@/lib/money'
import { monthQuery } from './api'
import { monthName, utcDay } from './periods'

function count(rows: number, what: string): string {
  return rows === 0 ? `no ${what}s` : `${rows} ${what}${rows === 1 ? '' : 's'}`
}

function noteOf(closing: Decimal, balance: Balance | undefined): string {
  if (compare(closing, '0') < 0) return 'below zero after a correction: nothing can be withdrawn'
  if (!balance) return '\u00a0'
  return compare(balance.reserved, '0') > 0
    ? `${formatMoney(balance.reserved)} of it reserved`
    : 'nothing reserved'
}

const opening = 'at the start of the month, UTC'

/** What this month did to the balance: opening, in, out, now. They add up. */
export function MonthFigures({ month, balance }: { month: string; balance: Balance | undefined }) {
  const name = monthName(month).replace(/ \d+$/, '')
  const labels = {
    opening: `Balance on ${utcDay(`${month}-01`).replace(/ \d+$/, '')}`,
    in: `In, ${name}`,
    out: `Out, ${name}`,
    now: 'Balance now',
  }
  return (
    <div className="card-box">
      <Region
        query={useQuery(monthQuery(month))}
        errorText="Failed to load transactions"
        loadingText="Loading this month"
        skeleton={
          <FigureRowSkeleton
            labels={Object.values(labels)}
            notes={[opening, count(0, 'movement'), count(0, 'movement'), noteOf('0', balance)]}
          />
        }
      >
        {(statement) => (
          <FigureRow>
            <Figure label={labels.opening} value={<Money value={statement.opening} />} note={opening} />
            <Figure
              label={labels.in}
              value={<Money value={statement.in.total} signed />}
              note={count(statement.in.rows, 'movement')}
            />
            <Figure
              label={labels.out}
              value={<Money value={`-${statement.out.total}`} signed />}
              note={count(statement.out.rows, 'movement')}
            />
            <Figure
              label={labels.now}
              value={<Money value={statement.closing} />}
              note={noteOf(statement.closing, balance)}
            />
          </FigureRow>
        )}
      </Region>
    </div>
  )
}
