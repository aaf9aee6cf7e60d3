export type Bucket = 'day' | 'week' | 'month'

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** The parts of a calendar day "2026-03-09". Days of a chart are UTC days and have no time of day. */
function parts(day: string): [year: string, month: string, date: number] {
  const [year = '', month = '1', date = '1'] = day.split('-')
  return [year, months[Number(month) - 1] ?? '', Number(date)]
}

/** "9 Mar", or "Mar 26" when each bar is a month. */
export function axisDay(day: string, bucket: Bucket): string {
  const [year, month, date] = parts(day)
  return bucket === 'month' ? `${month} ${year.slice(2)}` : `${date} ${month}`
}

/** "9 Mar 2026". */
function fullDay(day: string): string {
  const [year, month, date] = parts(day)
  return `${date} ${month} ${year}`
}

export interface Days {
  /** First and last day, both included. */
  from: string
  to: string
}

/** "22 Dec 2025 to 16 Mar 2026". */
export function describeDays({ from, to }: Days): string {
  return `${fullDay(from)} to ${fullDay(to)}`
}

/** Of a chart that ends today: "By week, 22 Dec 2025 to 16 Mar 2026, the last week so far." */
export function describeRunning(period: Days & { bucket: Bucket }): string {
  return `By ${period.bucket}, ${describeDays(period)}, the last ${period.bucket} so far.`
}

/** "By week, 17 Dec 2025 to 16 Mar 2026." */
export function describePeriod(period: Days & { bucket: Bucket }): string {
  return `By ${period.bucket}, ${describeDays(period)}.`
}

/** What one bar covers: "Week of 9 Mar 2026", "March 2026" as "Mar 2026", or the day; the running one "so far". */
export function barName(day: string, bucket: Bucket, running = false): string {
  if (running) return `${barName(day, bucket)}, so far`
  const [year, month] = parts(day)
  if (bucket === 'month') return `${month} ${year}`
  return bucket === 'week' ? `Week of ${fullDay(day)}` : fullDay(day)
}
