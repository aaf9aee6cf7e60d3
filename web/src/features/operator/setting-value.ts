import { formatMoney, parseAmount } from '@/lib/money'
import type { Setting } from './api'

/** A setting's value as it is typed: a list as a comma-separated line, nothing as an empty field. */
export function typedValue({ kind, value }: Pick<Setting, 'kind' | 'value'>): string {
  if (value === null || value === undefined) return ''
  if (kind === 'list' && Array.isArray(value)) return value.map(String).join(', ')
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** A setting's value as it is read. */
export function shownValue(setting: Pick<Setting, 'kind' | 'value'>): string {
  if (setting.kind === 'boolean' && typeof setting.value === 'boolean') return setting.value ? 'Yes' : 'No'
  if (setting.kind === 'amount' && typeof setting.value === 'string') return formatMoney(setting.value)
  return typedValue(setting) || 'Not set'
}

/** What was typed as the value that is sent; undefined when it cannot be one of this kind. */
export function sentValue(kind: Setting['kind'], typed: string): unknown {
  const text = typed.trim()
  switch (kind) {
    case 'integer':
      return /^-?\d{1,9}$/.test(text) ? Number(text) : undefined
    case 'amount': {
      const read = parseAmount(text)
      return 'value' in read ? read.value : undefined
    }
    case 'boolean':
      return text === 'true' ? true : text === 'false' ? false : undefined
    case 'list':
      return text === '' ? [] : text.split(',').map((part) => part.trim())
    case 'text':
    case 'time':
      return text === '' ? null : text
  }
}
