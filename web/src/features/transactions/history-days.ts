import { dayWord, formatDay } from '@/lib/dates'
import { add, type Decimal } from '@/lib/money'
import type { Movement } from './api'

export interface Day {
  /** "Yesterday", "Sat". */
  word: string
  /** "15 Mar 2026". */
  date: string
  items: Movement[]
  /** What the bonuses of this day come to, where there are several; null where that is not known or says nothing. */
  bonuses: Decimal | null
}

const bonusTypes = new Set(['referral bonus', 'pairing bonus', 'override bonus'])

/** Rows as they come, without what they come to. */
type Rows = Omit<Day, 'bonuses'>

function bonusesOf({ items }: Rows): Decimal | null {
  const amounts = items.filter((item) => bonusTypes.has(item.transaction_type)).map(({ amount }) => amount)
  return amounts.length > 1 ? add(...amounts) : null
}

/**
 * Rows as they come, newest first, under the reader's own days. `whole` says of which days all rows are here: of all,
 * of all but the last, which goes on with the next rows, or of none, because others are filtered out.
 */
export function groupByDay(items: Movement[], now: Date, whole: 'all' | 'but the last' | 'none'): Day[] {
  const days: Rows[] = []
  for (const item of items) {
    const moment = new Date(item.effective_at)
    const date = formatDay(moment)
    const last = days.at(-1)
    if (last?.date === date) last.items.push(item)
    else days.push({ word: dayWord(moment, now), date, items: [item] })
  }
  return days.map((day, index) => {
    const isWhole = whole === 'all' || (whole === 'but the last' && index < days.length - 1)
    return { ...day, bonuses: isWhole ? bonusesOf(day) : null }
  })
}
