import { formatMoney } from '@/lib/money'
import type { AuditEntry } from './api'

/** Areas that have another name on the screens. */
const areaWords: Record<string, string> = { books: 'ledger' }

/** "deposit.receipt_opened" as a person reads it: "Deposit: receipt opened". */
export function actionWords(action: string): string {
  const [area = '', act = ''] = action.split('.')
  const word = areaWords[area] ?? area
  const name = word.charAt(0).toUpperCase() + word.slice(1)
  return act ? `${name}: ${act.replaceAll('_', ' ')}` : name
}

/** "status_before" as "Status before". */
export function fieldWords(field: string): string {
  const words = field.replaceAll('_', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** A value of an entry as text: nothing is hidden and nothing is rounded. */
export function valueText(value: unknown): string {
  if (value === null) return 'None'
  return typeof value === 'string' ? value : JSON.stringify(value)
}

const moneyField = /(amount|value|balance|cash_in|total|shortfall)/
const exactField = /(^|_)(id|hash|reference|wallet|address|from|to)$/
const exactValue = /^([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|T[1-9A-HJ-NP-Za-km-z]{33}|[0-9a-f]{64})$/i

/** A value as the lists print it: an amount with its dollar sign; what is compared sign by sign in mono. */
export function noted(field: string, value: unknown): { text: string; mono: boolean } {
  const text = valueText(value)
  if (typeof value !== 'string') return { text, mono: false }
  if (moneyField.test(field) && /^-?\d+\.\d{2}$/.test(value)) return { text: formatMoney(value), mono: false }
  return { text, mono: exactValue.test(value) || (exactField.test(field) && !value.includes(' ')) }
}

const kinds: Record<string, string> = { admin: 'Administrator', member: 'Member' }

/** As what somebody acted: an administrator's role at the time, where it was recorded. */
export function roleWords(entry: Pick<AuditEntry, 'actor' | 'payload'>): string {
  const role = entry.payload?.actor_role
  if (typeof role === 'string') return fieldWords(role)
  return kinds[entry.actor.split(':')[0] ?? ''] ?? 'System'
}

/** The number under which the services logged the request; null outside a request or before it was recorded. */
export function requestOf(entry: Pick<AuditEntry, 'payload'>): string | null {
  const id = entry.payload?.request_id
  return typeof id === 'string' ? id : null
}
