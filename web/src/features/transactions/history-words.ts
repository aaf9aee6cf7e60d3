import { formatDay } from '@/lib/dates'
import { restText, restToSend } from '@/lib/deposit-rest'
import type { HistoryItem } from '@/lib/member'
import { compare, formatMoney, formatPercent, unsigned, type Decimal } from '@/lib/money'
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

/** ", requested on 16 Mar 2026"; nothing where that is the day of the row. */
function requestedWhen(item: HistoryItem): string {
  const asked = new Date(item.created_at)
  const sameDay = asked.toDateString() === new Date(item.effective_at).toDateString()
  return sameDay ? '' : `, requested on ${formatDay(asked)}`
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
    return `Cancelled${by}${requestedWhen(item)}. ${nothing}`
  }
  if (item.status === 'rejected') return `Not approved: ${withoutStop(item.admin_notes ?? '')}. ${nothing}`
  if (item.source === 'withdrawal')
    return item.status === 'pending' ? 'Reserved, not taken yet' : `Approved${requestedWhen(item)}`
  if (item.status === 'pending') {
    const missing = restToSend(item)
    return missing ? restText(missing) : 'Not part of the balance'
  }
  const received = otherAmountThatArrived(item)
  const arrived = received === null ? '' : `, ${formatMoney(received)} arrived`
  return `Cash-in, not part of the balance${arrived}`
}

/** What arrived of an approved deposit; null where it is the amount of the deposit, or not known. */
export function otherAmountThatArrived({ amount, received_amount: received }: HistoryItem): Decimal | null {
  return received === null || compare(received, amount) === 0 ? null : received
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
