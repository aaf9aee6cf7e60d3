import type { Correction, CorrectionKind } from '@/lib/corrections'
import { formatMoney } from '@/lib/money'

/** What each kind is called in the list. */
export const kindTitles: Record<CorrectionKind, string> = {
  void_deposit: 'Void a deposit',
  void_withdrawal: 'Void a withdrawal',
  set_package: 'Set a package',
}

/** "Void the deposit of $250.00", "Set the package of anna to $500.00": what is confirmed. */
export function deedOf({ kind, amount, value, username }: Correction): string {
  if (kind === 'set_package') return `Set the package of ${username} to ${formatMoney(value ?? '0')}`
  return `Void the ${kind === 'void_deposit' ? 'deposit' : 'withdrawal'} of ${formatMoney(amount ?? '0')}`
}
