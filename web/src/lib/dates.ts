const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

function count(amount: number, unit: string): string {
  return `${amount} ${unit}${amount === 1 ? '' : 's'}`
}

const dayFormat = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric' })

/** "14 Mar 2026" in the reader's zone. */
export function formatDay(value: Date): string {
  return dayFormat.format(value).replace('Sept', 'Sep')
}

const utcDayFormat = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  timeZone: 'UTC',
})

/** "14 Mar 2026" in UTC, for the days of a stated period. */
export function formatUtcDay(value: Date): string {
  return utcDayFormat.format(value).replace('Sept', 'Sep')
}

/** "14:02" in the reader's zone. */
export function formatTime(value: Date): string {
  return `${String(value.getHours()).padStart(2, '0')}:${String(value.getMinutes()).padStart(2, '0')}`
}

const weekday = new Intl.DateTimeFormat('en-GB', { weekday: 'short' })

/** "Today", "Yesterday", or "Sat": what the heading of a day's rows says before its date. */
export function dayWord(value: Date, now: Date): string {
  const midnight = (moment: Date) =>
    new Date(moment.getFullYear(), moment.getMonth(), moment.getDate()).getTime()
  const days = Math.round((midnight(now) - midnight(value)) / day)
  return days === 0 ? 'Today' : days === 1 ? 'Yesterday' : weekday.format(value)
}

/** "less than a minute", "3 hours", "12 days": a span of time in the largest unit that it fills. */
export function describeSpan(span: number): string {
  if (span < minute) return 'less than a minute'
  if (span < hour) return count(Math.floor(span / minute), 'minute')
  return span < day ? count(Math.floor(span / hour), 'hour') : count(Math.floor(span / day), 'day')
}

/** "3 hours ago" under seven days, then the day. What lies ahead by more than a minute is "in 3 hours". */
export function formatRelative(value: Date, now: Date): string {
  const age = now.getTime() - value.getTime()
  const distance = Math.abs(age)
  if (distance < minute) return 'just now'
  if (distance >= 7 * day) return formatDay(value)
  return age > 0 ? `${describeSpan(distance)} ago` : `in ${describeSpan(distance)}`
}

/** "for 3 hours": how long something has lasted. */
export function formatLasting(since: Date, now: Date): string {
  return `for ${describeSpan(now.getTime() - since.getTime())}`
}

/** The short name of the reader's zone on that day, such as "CET". */
export function zoneName(value: Date): string {
  const parts = new Intl.DateTimeFormat('en-GB', { timeZoneName: 'short' }).formatToParts(value)
  return parts.find((part) => part.type === 'timeZoneName')?.value ?? 'local time'
}

/** "14 Mar 2026 04:05", as administrators' tables print it; the zone stands in their header. */
export function formatExact(value: Date): string {
  return `${formatDay(value)} ${formatTime(value)}`
}

/** Exact time in the reader's zone and in UTC, for hover, focus and tap. */
export function describeMoment(value: Date): string {
  const utc = value.toISOString().slice(0, 19).replace('T', ' ')
  return `${formatExact(value)} ${zoneName(value)} (${utc} UTC)`
}

/** "due in 14 h" or "overdue by 3 h". */
export function formatDue(due: Date, now: Date): { text: string; overdue: boolean } {
  const left = due.getTime() - now.getTime()
  const hours = Math.floor(Math.abs(left) / hour)
  const span =
    hours < 1
      ? `${Math.floor(Math.abs(left) / minute)} min`
      : hours < 72
        ? `${hours} h`
        : `${Math.floor(hours / 24)} days`
  return left >= 0
    ? { text: `due in ${span}`, overdue: false }
    : { text: `overdue by ${span}`, overdue: true }
}
