import { formatDay } from '@/lib/dates'
import { formatMoney } from '@/lib/money'
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

const id = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'

/** How the objects of rules that name no row of a list are read: their label, and the words for what they hold. */
const namedThings: [rule: RegExp, object: RegExp, label: string, words: (...found: string[]) => string][] = [
  [/^I2[12]$/, /^all$/, '', () => ''],
  [/^I26$/, /^(\d+)$/, 'Link of the audit log', (seq) => seq],
  [/^I27$/, /^flow of (\d{4}-\d\d-\d\d)$/, 'Day', dayWords],
  [/^(I27|I40)$/, /^(\w+)$/, 'Figure', labelOf],
  [/^I(23|29|41)$/, /^(\d+)$/, 'Place in the tree', (no) => no],
  [/^I3[89]$/, /^(\d{4}-\d\d-\d\d)(?: [\d:.]+)?$/, 'Day', dayWords],
  [/^I(28|30)$/, /^\d+ (\d{4}-\d\d-\d\d)$/, 'Day', dayWords],
  [/^I1[01]$/, /^(\w+) (\d+) *$/, 'Bonus', (type, no) => `${labelOf(type)}, place ${no}`],
  [
    /^I11$/,
    /^(\w+) (\d+) (\d+)$/,
    'Bonus',
    (type, no, pair) => `${labelOf(type)}, place ${no}, pair ${pair}`,
  ],
  [/./, RegExp(`^(${id}) (\\w+)\\.(\\w+)`), 'Row', (row, noun) => `${labelOf(noun)} ${row}`],
]

/** What a violation names, with its label: "Row", "Deposit 0c1d2e3f", or a day, a figure, a place in the tree. */
export function namedThing({ row, rule, object }: Pick<Alarm, 'row' | 'rule' | 'object'>) {
  if (row) return { label: 'Row', name: `${rowWords[row.kind]} ${row.id.slice(0, 8)}` }
  const rest = rule ? object.slice(rule.length + 1) : ''
  for (const [rules, objects, label, words] of namedThings) {
    const found = rule && rules.test(rule) ? objects.exec(rest) : null
    if (found) return label ? { label, name: words(...found.slice(1)) } : null
  }
  return rest ? { label: 'Row', name: rest } : null
}

function dayWords(day: string): string {
  return formatDay(new Date(`${day}T12:00:00`))
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
    .map(([name, value]) => ({ label: labelOf(name), value: valueWords(name, value) }))
}

const labels: Record<string, string> = {
  decision_no: 'Decision number',
  entry: 'Entry of the audit log',
  is_active: 'Active',
  user_id: 'Member id',
}

/** "Caused by corrections" of caused_by_corrections. */
function labelOf(name: string): string {
  return labels[name] ?? name.charAt(0).toUpperCase() + name.slice(1).replaceAll('_', ' ')
}

/** Whole cents: what is damaged is printed as it is. */
const printable = /^-?\d+(\.\d{1,2}0*)?$/
const amounts = new Set([
  'amount',
  'approved_cash_in',
  'approved_withdrawals',
  'caused_by_corrections',
  'credited',
  'pending',
  'shortfall',
  'value',
  'withdrawable',
  'withdrawn',
])

function valueWords(name: string, value: unknown): string {
  if (value === null || value === undefined) return 'None'
  if (typeof value === 'boolean') return value ? 'Yes' : 'No'
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  if (amounts.has(name.replace(/^(stored|due)_/, '')) && printable.test(text)) return formatMoney(text)
  return name === 'kind' || name === 'role' ? labelOf(text) : text
}

/** What an entry of the audit log says and its row does not, or the other way round; all of it where one is missing. */
export function differencesOf({ says, is }: Alarm['details']) {
  const [entry, row] = [says, is].map((facts) => (facts ?? null) as Record<string, unknown> | null)
  const names = [...new Set([...Object.keys(entry ?? {}), ...Object.keys(row ?? {})])].sort()
  return names
    .map((name) => ({
      name: labelOf(name),
      entry: entry ? valueWords(name, entry[name]) : 'No entry',
      row: row ? valueWords(name, row[name]) : 'No row',
    }))
    .filter((difference) => difference.entry !== difference.row)
}
