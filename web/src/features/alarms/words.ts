import { formatDay } from '@/lib/dates'
import { formatMoney } from '@/lib/money'
import type { Alarm } from './api'

const stopWords = {
  everybody: 'every decision about money',
  member: "decisions about this member's money",
  administrator: 'decisions of this administrator',
  setting: 'decisions that depend on this setting',
} as const

/** What an alarm blocks. */
export function blockedWords({ stops }: Pick<Alarm, 'stops'>): string {
  return stops ? stopWords[stops] : 'nothing'
}

/** The same as a sentence of its own, said as long as the alarm is open. */
export function stopsWords({
  stops,
  acknowledged_at: acknowledgedAt,
}: Pick<Alarm, 'stops' | 'acknowledged_at'>): string {
  if (stops) return `Blocks ${stopWords[stops]}`
  return acknowledgedAt ? 'Acknowledged: decisions go on until it changes' : 'Decisions go on'
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
  // The member who has this place stands under Member.
  [/^I(23|29)$/, /^\d+$/, '', () => ''],
  [/^I26$/, /^(?:entry )?(\d+)$/, 'Where', (seq) => `Entry ${seq} of the audit log`],
  [/^I27$/, /^flow of (\d{4}-\d\d-\d\d)$/, 'Day', dayWords],
  [/^(I27|I40)$/, /^(\w+)$/, 'Figure', labelOf],
  [/^I52$/, /^([\w.]+)$/, 'Setting', (key) => key],
  [/^I3[89]$/, /^(\d{4}-\d\d-\d\d)(?: [\d:.]+)?$/, 'Day', dayWords],
  [/^I(28|30)$/, /^\d+ (\d{4}-\d\d-\d\d)$/, 'Day', dayWords],
  [/^I1[01]$/, /^(\w+) \d+ (\d*)$/, 'Bonus', (type, pair) => labelOf(type) + (pair ? `, pair ${pair}` : '')],
  [/^I41$/, /^\d+$/, 'Referral', () => ''],
  [/./, RegExp(`^(?:${id}) (\\w+)\\.\\w+`), 'Row', labelOf],
  [/./, RegExp(`^${id}$`), 'Row', () => ''],
]

interface NamedThing {
  label: string
  name: string
  /** By which it is found in the audit log. */
  id?: string
  /** The same for an entry of the audit log itself. */
  entry?: string
}

/** What a violation names, with its label: "Row", "Deposit" and its id, or a day, a figure, whose bonus it is. */
export function namedThing({
  row,
  rule,
  object,
  at_place: place,
}: Pick<Alarm, 'row' | 'rule' | 'object' | 'at_place'>): NamedThing | null {
  if (row?.kind === 'administrator') return { label: rowWords[row.kind], name: row.name ?? '', id: row.id }
  if (row) return { label: 'Row', name: rowWords[row.kind], id: row.id }
  const rest = rule ? object.slice(rule.length + 1) : ''
  for (const [rules, objects, label, words] of namedThings) {
    const found = rule && rules.test(rule) ? objects.exec(rest) : null
    if (!found) continue
    const own = words(...found.slice(1))
    const name = place ? [own, place.username].filter(Boolean).join(' of ') : own
    const [rowId] = new RegExp(id).exec(rest) ?? []
    if (!label || (!name && !rowId)) return null
    return {
      label,
      name,
      ...(rowId ? { id: rowId } : {}),
      ...(rule === 'I26' ? { entry: found[1] ?? '' } : {}),
    }
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
    .filter(([name]) => !shownElsewhere.has(name) && !/^(stored|due)_/.test(name))
    .map(([name, value]) => ({ label: labelOf(name), value: valueWords(name, value) }))
}

const labels: Record<string, string> = {
  decision_no: 'Decision number',
  entry: 'Entry of the audit log',
  is_active: 'Active',
  revision: 'Changes',
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

interface Differences {
  /** What the two values of a figure are. */
  heads: [string, string]
  caption: string
  rows: { name: string; one: string; other: string }[]
}

/** What an entry of the audit log says and its row does not, or the other way round; all of it where one is missing. */
function entryDifferences({ says, is }: Alarm['details']): Differences['rows'] {
  const [entry, row] = [says, is].map((facts) => (facts ?? null) as Record<string, unknown> | null)
  const names = [...new Set([...Object.keys(entry ?? {}), ...Object.keys(row ?? {})])].sort()
  return names.map((name) => ({
    name: labelOf(name),
    one: entry ? valueWords(name, entry[name]) : 'No entry',
    other: row ? valueWords(name, row[name]) : 'No row',
  }))
}

/** The figures of a day or a report as they should be, and as they are stored. */
function storedDifferences(details: Alarm['details']): Differences['rows'] {
  return Object.keys(details)
    .filter((key) => key.startsWith('stored_'))
    .map((key) => key.slice('stored_'.length))
    .map((name) => ({
      name: labelOf(name),
      one: valueWords(name, details[`due_${name}`]),
      other: valueWords(name, details[`stored_${name}`]),
    }))
}

/** The figures of an alarm that are two, where they differ. */
export function differencesOf(details: Alarm['details']): Differences | null {
  const entries = entryDifferences(details)
  const rows = (entries.length > 0 ? entries : storedDifferences(details)).filter(
    ({ one, other }) => one !== other,
  )
  if (rows.length === 0) return null
  return entries.length > 0
    ? { heads: ['In the audit log', 'In the row'], caption: 'What the audit log and the row say', rows }
    : { heads: ['Should be', 'Stored'], caption: 'What the figures should be, and what is stored', rows }
}
