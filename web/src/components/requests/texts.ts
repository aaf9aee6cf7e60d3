import { formatExact, zoneName } from '@/lib/dates'
import type { DecidedRequest, RequestNoun } from '@/lib/request-changes'
import type { DecisionAction, RequestFlag } from './request'

/** Every sentence that names the kind of request, written out, so that each can be found and read as it is. */
export const requestTexts = {
  deposit: {
    title: 'Deposits Management',
    search: 'Search deposits',
    none: 'No deposits found',
    loading: 'Loading deposits...',
    failedToLoad: 'Failed to load deposits',
    approve: {
      failed: 'Failed to approve deposit',
      done: 'Deposit approved successfully',
      many: 'deposits approved',
    },
    reject: {
      failed: 'Failed to reject deposit',
      done: 'Deposit rejected successfully',
      many: 'deposits rejected',
    },
    void: 'Void this deposit',
  },
  withdrawal: {
    title: 'Withdrawals Management',
    search: 'Search withdrawals',
    none: 'No withdrawals found',
    loading: 'Loading withdrawals...',
    failedToLoad: 'Failed to load withdrawals',
    approve: {
      failed: 'Failed to approve withdrawal',
      done: 'Withdrawal approved successfully',
      many: 'withdrawals approved',
    },
    reject: {
      failed: 'Failed to reject withdrawal',
      done: 'Withdrawal rejected successfully',
      many: 'withdrawals rejected',
    },
    void: 'Void this withdrawal',
  },
} as const

const askRest = {
  failed: 'Failed to ask for the rest',
  done: 'The member was asked for the rest',
  many: 'members asked for the rest',
}

/** What is said after a decision, or after a deposit's rest was asked for. */
export function decisionTexts(noun: RequestNoun, action: DecisionAction) {
  return action === 'ask_rest' ? askRest : requestTexts[noun][action]
}

/** A flag in words; the server names a time in UTC, the lists beside it name the reader's zone. */
export function flagText({ text, until }: RequestFlag): string {
  if (!until) return text
  const end = new Date(until)
  return text.replace(/ until .+ UTC/, ` until ${formatExact(end)} ${zoneName(end)}`)
}

type Decided = Pick<DecidedRequest, 'status' | 'admin_notes' | 'decided_by_name'>

/** "approved by Ada Holm", "cancelled by the member": what became of a request, as part of a sentence. */
export function decidedText({ status, admin_notes: notes, decided_by_name: name }: Decided): string {
  if (name !== null) return `${status} by ${name}`
  return notes === 'Account closed' ? 'rejected because the account was closed' : 'cancelled by the member'
}
