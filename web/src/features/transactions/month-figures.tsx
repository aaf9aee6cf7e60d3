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
  return (
    <div className="card-box">
      <Region
        query={useQuery(monthQuery(month))}
        errorText="Failed to load transactions"
        loadingText="Loading this month"
        skeleton={
          <FigureRowSkeleton
            notes={[opening, count(0, 'movement'), count(0, 'movement'), 'nothing reserved']}
          />
        }
      >
        {(statement) => (
          <FigureRow>
            <Figure
              label={`Balance on ${utcDay(statement.from).replace(/ \d+$/, '')}`}
              value={<Money value={statement.opening} />}
              note={opening}
            />
            <Figure
              label={`In, ${name}`}
              value={<Money value={statement.in.total} signed />}
              note={count(statement.in.rows, 'movement')}
            />
            <Figure
              label={`Out, ${name}`}
              value={<Money value={`-${statement.out.total}`} signed />}
              note={count(statement.out.rows, 'movement')}
            />
            <Figure
              label="Balance now"
              value={<Money value={statement.closing} />}
              note={noteOf(statement.closing, balance)}
            />
          </FigureRow>
        )}
      </Region>
    </div>
  )
}
