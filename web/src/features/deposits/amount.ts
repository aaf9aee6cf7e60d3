import { compare, formatMoney, type Decimal } from '@/lib/money'
import type { Package } from '@/lib/platform'
import type { DepositOptions } from './api'

/** What an amount would do if it were approved. */
export type AmountMeaning =
  { kind: 'first' | 'upgrade'; package: Package } | { kind: 'cash-in' } | { kind: 'refused'; text: string }

export const downgradeText = 'You can only upgrade to a higher package. Downgrades are not allowed.'

export const cashInText = 'Counts as cash-in. Does not change your package. Cannot be withdrawn.'

/** What the server offers: what completes the package, the packages that may be paid for, and other amounts. */
export type Offer = Pick<DepositOptions, 'choices' | 'other_amount_allowed'> & {
  verification: Pick<DepositOptions['verification'], 'missingCashIn'>
}

function isAmount(amount: Decimal) {
  return ({ value }: Package) => compare(value, amount) === 0
}

/** What the server's offer makes of an amount; the price of a package that it does not offer is refused. */
export function readAmount(amount: Decimal, packages: Package[], offer: Offer): AmountMeaning {
  const { missingCashIn: missing } = offer.verification
  if (missing !== null && compare(amount, missing) <= 0) return { kind: 'cash-in' }
  const choice = offer.choices.find(isAmount(amount))
  if (choice) {
    const { kind, ...named } = choice
    return { kind, package: named }
  }
  if (!offer.other_amount_allowed) return { kind: 'refused', text: 'Choose one of the packages.' }
  return packages.some(isAmount(amount)) ? { kind: 'refused', text: downgradeText } : { kind: 'cash-in' }
}

/** Said under the amount before anything is sent. */
export function explainMeaning(meaning: AmountMeaning): string | null {
  if (meaning.kind === 'cash-in') return cashInText
  if (meaning.kind === 'upgrade') {
    const { label, value } = meaning.package
    return `${formatMoney(value)} is the price of ${label}: this is an upgrade. Moving to ${label} costs the full ${formatMoney(value)}. What you paid before is not deducted.`
  }
  return null
}
