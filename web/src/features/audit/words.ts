import type { AuditEntry } from './api'

/** "deposit.receipt_opened" as a person reads it: "Deposit: receipt opened". */
export function actionWords(action: string): string {
  const [area = '', act = ''] = action.split('.')
  const name = area.charAt(0).toUpperCase() + area.slice(1)
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
