import type { Correction, CorrectionKind } from '@/lib/corrections'
import { formatMoney } from '@/lib/money'

/** What each kind does, in the words of the list and of the dialog. */
export const kindTexts: Record<CorrectionKind, { title: string; consequence: string }> = {
  void_deposit: {
    title: 'Void a deposit',
    consequence: 'The deposit no longer counts: cash-in, package and bonuses are worked out anew.',
  },
  void_withdrawal: {
    title: 'Void a withdrawal',
    consequence: 'The withdrawal no longer counts: its amount is available again.',
  },
  set_package: {
    title: 'Set a package',
    consequence: 'The package is set without cash-in, and bonuses are worked out anew.',
  },
}

/** "Void the deposit of $250.00", "Set the package of anna to $500.00": what is confirmed. */
export function deedOf({ kind, amount, value, username }: Correction): string {
  if (kind === 'set_package') return `Set the package of ${username} to ${formatMoney(value ?? '0')}`
  return `Void the ${kind === 'void_deposit' ? 'deposit' : 'withdrawal'} of ${formatMoney(amount ?? '0')}`
}
