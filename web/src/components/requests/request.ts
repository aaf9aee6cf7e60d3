import type { TablePage } from '@/components/data-table/types'
import type { AskedRest } from '@/lib/deposit-rest'
import type { Decimal } from '@/lib/money'
import type { RequestCounts } from '@/lib/request-changes'

/** `ask_rest`, of deposits only, leaves the request pending. */
export type DecisionAction = 'approve' | 'reject' | 'ask_rest'

/** What stands out about a request. */
export interface RequestFlag {
  kind: string
  text: string
  /** Until when it stands out, where that is known. */
  until?: string
}

/** What deposit and withdrawal requests have in common for an administrator. Money is decimal text. */
export interface MoneyRequest {
  id: string
  user_id: string
  amount: Decimal
  status: 'pending' | 'approved' | 'rejected'
  admin_notes: string | null
  created_at: string
  decided_at: string | null
  decided_by_name: string | null
  /** Taken back by the member, not rejected. */
  cancelled: boolean
  /** By somebody else, after the list was read. */
  decidedMeanwhile?: boolean
  /** Until when it should be decided. */
  due_at: string
  /** Since when an approved one no longer counts: a correction voided it. */
  voided_at: string | null
  /** How it was paid, once it was. */
  payout_reference?: string | null
  /** Of an approved deposit, what arrived, where the approval said so. */
  received_amount?: Decimal | null
  /** What the member of a pending deposit was asked to send. */
  rest?: AskedRest | null
  username: string
  display_name: string | null
  email: string | null
  /** Since when the member is one. */
  joined_at: string
  available_balance: Decimal
  cash_in_amount: Decimal
  package_value: Decimal
  trc20_wallet_address: string | null
  flags: RequestFlag[]
}

export type RequestPage<Row extends MoneyRequest> = TablePage<Row> & { counts: RequestCounts }

/** What can be done to a row; `forbidden` says why this role may not decide. */
export interface RequestActs<Row extends MoneyRequest> {
  forbidden: string | null
  onDetails: (row: Row) => void
  onDecide: (row: Row, action: DecisionAction) => void
}

/** The ways out of a request's details: to its neighbours in the list as it is shown, where there are any, and back. */
export interface DetailsPlace {
  previous: (() => void) | undefined
  next: (() => void) | undefined
  onClose: () => void
}
