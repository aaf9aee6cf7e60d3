import { dayHeading } from '@/lib/dates'
import type { Movement } from './api'

export interface Day {
  heading: string
  items: Movement[]
}

/** Rows as they come, newest first, under the reader's own days. */
export function groupByDay(items: Movement[], now: Date): Day[] {
  const days: Day[] = []
  for (const item of items) {
    const heading = dayHeading(new Date(item.created_at), now)
    const last = days.at(-1)
    if (last?.heading === heading) last.items.push(item)
    else days.push({ heading, items: [item] })
  }
  return days
}
