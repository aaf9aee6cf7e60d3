/** Days are UTC days, as "2026-03-16"; months as "2026-03". */
function isoDay(value: Date): string {
  return value.toISOString().slice(0, 10)
}

function utc(year: number, month: number, day: number): Date {
  return new Date(Date.UTC(year, month, day))
}

export interface Preset {
  label: string
  from: string
  to: string
}

/** Periods that are asked for most, up to today where they are running. */
export function presets(now: Date): Preset[] {
  const [year, month, day] = [now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()]
  const today = isoDay(now)
  return [
    { label: 'This month', from: isoDay(utc(year, month, 1)), to: today },
    { label: 'Last month', from: isoDay(utc(year, month - 1, 1)), to: isoDay(utc(year, month, 0)) },
    { label: 'Last 90 days', from: isoDay(utc(year, month, day - 89)), to: today },
    { label: 'This year', from: isoDay(utc(year, 0, 1)), to: today },
  ]
}

/** The months from one moment to another, newest first. */
export function monthsBetween(first: Date, last: Date): string[] {
  const months: string[] = []
  let year = last.getUTCFullYear()
  let month = last.getUTCMonth()
  const until = isoDay(first).slice(0, 7)
  for (let name = isoDay(utc(year, month, 1)).slice(0, 7); name >= until;) {
    months.push(name)
    month -= 1
    if (month < 0) [year, month] = [year - 1, 11]
    name = isoDay(utc(year, month, 1)).slice(0, 7)
  }
  return months
}

const monthFormat = new Intl.DateTimeFormat('en-GB', { month: 'long', year: 'numeric', timeZone: 'UTC' })
const dayFormat = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  timeZone: 'UTC',
})

/** "March 2026". */
export function monthName(month: string): string {
  return monthFormat.format(new Date(`${month}-01T00:00:00Z`))
}

/** "16 Mar 2026" of a moment or a day, in UTC. */
export function utcDay(value: string): string {
  return dayFormat.format(new Date(value)).replace('Sept', 'Sep')
}
