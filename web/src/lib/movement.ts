import type { HistoryItem } from './member'
import { formatMoney, unsigned, type Decimal } from './money'

interface Request {
  status: string
  cancelled?: boolean
}

/** The status as it is shown: who took a request back was not refused. */
export function shownStatus({ status, cancelled = false }: Request): string {
  return cancelled ? 'cancelled' : status
}

/** Whether a request was refused or taken back, so that no money moved. */
export function movedNothing({ status }: Request): boolean {
  return status === 'rejected' || status === 'failed'
}

/** "Referral bonus", "Withdrawal", or "Withdrawal of $120.00" where the amount is no movement. */
export function movementTitle(item: { transaction_type: string; status: string; amount: Decimal }): string {
  const words = item.transaction_type.replaceAll('_', ' ')
  const title = words.charAt(0).toUpperCase() + words.slice(1)
  return movedNothing(item) ? `${title} of ${formatMoney(unsigned(item.amount))}` : title
}

/** The names of a pair as people say them; the second may not exist yet. */
export function pairNames(names: NonNullable<HistoryItem['pair_names']>): string {
  return names.filter((name) => name !== null).join(', ')
}
