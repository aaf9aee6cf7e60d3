import { compare, formatMoney, type Decimal } from '@/lib/money'
import type { Package } from '@/lib/platform'

/** What an amount would do if it were approved. The amount alone decides it. */
export type AmountMeaning =
  { kind: 'first' | 'upgrade'; package: Package } | { kind: 'cash-in' } | { kind: 'refused'; text: string }

export const downgradeText = 'You can only upgrade to a higher package. Downgrades are not allowed.'

/**
 * The same reading as the server's: without a package only a package price; with one, a higher price is an
 * upgrade at that full price, a price that is not higher is refused, any other amount is cash-in.
 */
export function readAmount(amount: Decimal, packages: Package[], present: Decimal): AmountMeaning {
  const named = packages.find((option) => compare(option.value, amount) === 0)
  const hasPackage = compare(present, '0') > 0
  if (!hasPackage) {
    return named
      ? { kind: 'first', package: named }
      : { kind: 'refused', text: 'Choose one of the packages.' }
  }
  if (!named) return { kind: 'cash-in' }
  return compare(named.value, present) > 0
    ? { kind: 'upgrade', package: named }
    : { kind: 'refused', text: downgradeText }
}

/** Said under the amount before anything is sent. */
export function explainMeaning(meaning: AmountMeaning): string | null {
  if (meaning.kind === 'cash-in')
    return 'Counts as cash-in. Does not change your package. Cannot be withdrawn.'
  if (meaning.kind === 'upgrade') {
    const { label, value } = meaning.package
    return `${formatMoney(value)} is the price of ${label}: this is an upgrade. Moving to ${label} costs the full ${formatMoney(value)}. What you paid before is not deducted.`
  }
  return null
}
