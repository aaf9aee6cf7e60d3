import { dayWord, formatDay } from '@/lib/dates'
import type { Movement } from './api'

export interface Day {
  /** "Yesterday", "Sat". */
  word: string
  /** "15 Mar 2026". */
  date: string
  items: Movement[]
}

/** Rows as they come, newest first, under the reader's own days. */
export function groupByDay(items: Movement[], now: Date): Day[] {
  const days: Day[] = []
  for (const item of items) {
    const moment = new Date(item.created_at)
    const date = formatDay(moment)
    const last = days.at(-1)
    if (last?.date === date) last.items.push(item)
    else days.push({ word: dayWord(moment, now), date, items: [item] })
  }
  return days
}
