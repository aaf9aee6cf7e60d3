import type { Correction, CorrectionKind, RestoredRow, RowValue } from '@/lib/corrections'
import { formatMoney } from '@/lib/money'

/** What each kind is called in the list. */
export const kindTitles: Record<CorrectionKind, string> = {
  void_deposit: 'Void a deposit',
  void_withdrawal: 'Void a withdrawal',
  set_package: 'Set a package',
  repair_rows: 'Repair rows',
}

/** "Void the deposit of $250.00", "Set the package of anna to $500.00": what is confirmed. */
export function deedOf({ kind, amount, value, username }: Correction): string {
  if (kind === 'set_package') return `Set the package of ${username} to ${formatMoney(value ?? '0')}`
  if (kind === 'repair_rows') return `Repair the rows of ${username}`
  return `Void the ${kind === 'void_deposit' ? 'deposit' : 'withdrawal'} of ${formatMoney(amount ?? '0')}`
}

const tableWords: Record<string, string> = {
  'public.transactions': 'Journal row',
  'public.bonuses': 'Bonus',
  'public.deposits': 'Deposit',
  'public.withdrawals': 'Withdrawal',
  'private.corrections': 'Correction',
  'private.deposit_rests': 'Rest of a deposit',
  'private.transfer_keys': 'Keys of a transfer',
}

function shown(value: RowValue | undefined): string {
  return value === null || value === undefined ? 'none' : String(value)
}

/** "deposit of 500.00", "120.00, approved, TQ5...": what a whole row is about. */
function contents(row: Record<string, RowValue>): string {
  const kind = row.transaction_type ?? row.bonus_type ?? row.kind
  const amount = row.amount ?? row.value ?? row.received_amount
  const about = [
    [kind, amount].filter((value) => value !== null && value !== undefined).join(' of '),
    row.status,
    row.wallet_address,
    row.reference_number,
    row.payout_reference,
  ]
  return about.filter(Boolean).join(', ')
}

/** "Journal row, set back: amount from 1000 to 500": one line for each row. */
export function restoredWords({ table, old, new: restored }: RestoredRow): string {
  const row = tableWords[table] ?? table
  if (!old) return `${row} added: ${contents(restored ?? {})}`
  if (!restored) return `${row} taken out: ${contents(old)}`
  const changes = Object.keys(restored).map(
    (key) => `${key.replaceAll('_', ' ')} from ${shown(old[key])} to ${shown(restored[key])}`,
  )
  return `${row} set back: ${changes.join(', ')}`
}
