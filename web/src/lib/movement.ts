import type { HistoryItem } from './member'

/** "Referral bonus", "Withdrawal": the type of a movement as a heading. */
export function movementTitle(item: Pick<HistoryItem, 'transaction_type'>): string {
  const words = item.transaction_type.replaceAll('_', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** The names of a pair as people say them; the second may not exist yet. */
export function pairNames(names: [string | null, string | null]): string {
  return names.filter((name) => name !== null).join(', ')
}
