import type { Alarm } from './api'

const stopWords = {
  everybody: 'Stops every decision about money',
  member: "Stops decisions about this member's money",
} as const

/** What an alarm stops, said as long as it is open. */
export function stopsWords({
  stops,
  acknowledged_at: acknowledgedAt,
}: Pick<Alarm, 'stops' | 'acknowledged_at'>) {
  if (stops) return stopWords[stops]
  return acknowledgedAt ? 'Acknowledged: stops nothing until it changes' : 'Stops nothing'
}

const rowWords = {
  deposit: 'Deposit',
  withdrawal: 'Withdrawal',
  bonus: 'Bonus',
  transaction: 'Transaction',
  member: 'Member',
  administrator: 'Administrator',
} as const

/** "Deposit 0c1d2e3f" of a row that a violation names; what stands after the rule where it names no row. */
export function rowName({ row, rule, object }: Pick<Alarm, 'row' | 'rule' | 'object'>): string | null {
  if (row) return `${rowWords[row.kind]} ${row.id.slice(0, 8)}`
  const rest = rule ? object.slice(rule.length + 1) : ''
  return rest || null
}

const shownElsewhere = new Set([
  'rows',
  'repairs',
  'violations',
  'above',
  'urgent',
  'emails',
  'shown',
  'to',
  'since',
  'says',
  'is',
])

/** "caused_by_corrections" and its figure, of what the sentences do not say already. */
export function figuresOf(details: Alarm['details']): { label: string; value: string }[] {
  return Object.entries(details)
    .filter(([name]) => !shownElsewhere.has(name))
    .map(([name, value]) => ({ label: labelOf(name), value: valueWords(value) }))
}

/** "Caused by corrections" of caused_by_corrections. */
function labelOf(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1).replaceAll('_', ' ')
}

function valueWords(value: unknown): string {
  if (value === null || value === undefined) return 'None'
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** What an entry of the audit log says and its row does not, or the other way round; all of it where one is missing. */
export function differencesOf({ says, is }: Alarm['details']) {
  const [entry, row] = [says, is].map((facts) => (facts ?? null) as Record<string, unknown> | null)
  const names = [...new Set([...Object.keys(entry ?? {}), ...Object.keys(row ?? {})])].sort()
  return names
    .map((name) => ({
      name: labelOf(name),
      entry: entry ? valueWords(entry[name]) : 'No entry',
      row: row ? valueWords(row[name]) : 'No row',
    }))
    .filter((difference) => difference.entry !== difference.row)
}
