import { formatDay, formatTime } from '@/lib/dates'
import type { HistoryItem } from '@/lib/member'
import { compare, formatMoney, formatPercent, unsigned } from '@/lib/money'
import { pairNames } from '@/lib/movement'

/** "30.00% of $500.00, pair 2: anna, ben": where a bonus comes from; null for a bonus that a correction took away. */
function source(item: HistoryItem): string | null {
  if (item.rate === null || item.volume === null || compare(item.volume, '0') === 0) return null
  const base = `${formatPercent(item.rate)} of ${formatMoney(item.volume)}`
  if (item.pair_number === null) return item.counterparty ? `${base}, package of ${item.counterparty}` : base
  const names = item.pair_names ? `: ${pairNames(item.pair_names)}` : ''
  const owner =
    item.transaction_type === 'override bonus' && item.counterparty ? ` of ${item.counterparty}` : ''
  return `${base}, pair ${item.pair_number}${owner}${names}`
}

/** Where a bonus comes from; of one that changed since, what this row was of it. */
export function provenance(item: HistoryItem): string | null {
  const from = source(item)
  if (item.bonus_amount === null || compare(item.bonus_amount, item.amount) === 0) return from
  const now = `the bonus is now ${formatMoney(item.bonus_amount)}`
  const why = from ? ` (${from})` : item.counterparty ? ` (${item.counterparty})` : ''
  if (item.source === 'bonus') return `First credit; ${now}${why}`
  return `${compare(item.amount, '0') > 0 ? 'Raised' : 'Lowered by a correction'}; ${now}${why}`
}

/** "at 18:05" on the day of the request, "on 16 Mar 2026, 15:48" on another. */
function decidedWhen(item: HistoryItem): string {
  if (!item.decided_at) return ''
  const decided = new Date(item.decided_at)
  const sameDay = decided.toDateString() === new Date(item.created_at).toDateString()
  return sameDay ? `at ${formatTime(decided)}` : `on ${formatDay(decided)}, ${formatTime(decided)}`
}

function withoutStop(text: string): string {
  return text.replace(/[.\s]+$/, '')
}

const cancelledByMember = 'Cancelled by the member'

/** What became of a request, in a few words. */
export function requestNote(item: HistoryItem): string | null {
  const nothing = item.source === 'deposit' ? 'Nothing was added.' : 'Nothing moved.'
  if (item.cancelled) {
    const by = item.admin_notes === cancelledByMember ? ' by you' : ''
    return `Cancelled${by} ${decidedWhen(item)}. ${nothing}`
  }
  if (item.status === 'rejected') return `Not approved: ${withoutStop(item.admin_notes ?? '')}. ${nothing}`
  if (item.status === 'pending')
    return item.source === 'withdrawal' ? 'Reserved, not taken yet' : 'Not part of the balance'
  return item.source === 'withdrawal' ? `Approved ${decidedWhen(item)}` : 'Cash-in, not part of the balance'
}

/** What a correction of a request did. */
export function correctionNote(item: HistoryItem): string {
  return item.in_balance
    ? 'A withdrawal that was not paid is available again.'
    : 'A deposit no longer counts. It was not part of the balance.'
}

/** A refused or cancelled request explains itself, and what to do next. */
export function refusal(item: HistoryItem): string | null {
  if (item.status !== 'rejected' || !item.admin_notes) return null
  const what = item.source === 'deposit' ? 'deposit' : 'withdrawal'
  const amount = formatMoney(unsigned(item.amount))
  if (item.cancelled && item.admin_notes === cancelledByMember)
    return `You cancelled this ${what} of ${amount}.`
  const next =
    what === 'deposit'
      ? 'Nothing was added. Send a new request with the right reference, or contact support.'
      : 'Nothing was paid and nothing was deducted. You can ask again, or contact support.'
  return `Your ${what} of ${amount} was not approved. Reason: ${withoutStop(item.admin_notes)}. ${next}`
}
