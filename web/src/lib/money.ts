/**
 * Money as the API writes it: decimal text in dollars ("1234.50"). Arithmetic runs on whole cents in
 * BigInt, so no figure on a screen has ever been a floating-point number.
 */
export type Decimal = string

const pattern = /^-?\d+(\.\d+)?$/
const minus = '\u2212'

/** Cents of a decimal text with at most two decimals; throws a RangeError for anything else. */
export function toCents(value: Decimal): bigint {
  if (!pattern.test(value)) throw new RangeError(`Not a decimal amount: ${value}`)
  const negative = value.startsWith('-')
  const [whole = '0', fraction = ''] = value.replace('-', '').split('.')
  if (fraction.length > 2 && /[1-9]/.test(fraction.slice(2))) {
    throw new RangeError(`More than two decimals: ${value}`)
  }
  const cents = BigInt(whole) * 100n + BigInt(fraction.slice(0, 2).padEnd(2, '0'))
  return negative ? -cents : cents
}

export function fromCents(cents: bigint): Decimal {
  const absolute = cents < 0n ? -cents : cents
  return `${cents < 0n ? '-' : ''}${absolute / 100n}.${String(absolute % 100n).padStart(2, '0')}`
}

export function add(...values: Decimal[]): Decimal {
  return fromCents(values.reduce((sum, value) => sum + toCents(value), 0n))
}

export function subtract(from: Decimal, value: Decimal): Decimal {
  return fromCents(toCents(from) - toCents(value))
}

/** Negative, zero or positive as `left` is below, equal to or above `right`. */
export function compare(left: Decimal, right: Decimal): number {
  const difference = toCents(left) - toCents(right)
  return difference === 0n ? 0 : difference < 0n ? -1 : 1
}

export function isNegative(value: Decimal): boolean {
  return toCents(value) < 0n
}

export function unsigned(value: Decimal): Decimal {
  return value.replace('-', '')
}

/** `rate` percent of an amount, rounded half away from zero to cents. Rates have at most two decimals. */
export function percentOf(value: Decimal, rate: Decimal): Decimal {
  const product = toCents(value) * toCents(rate)
  const half = product < 0n ? -5000n : 5000n
  return fromCents((product + half) / 10_000n)
}

/** `part` of `whole` in percent with two decimals, rounded half away from zero; null when whole is 0. */
export function ratio(part: Decimal, whole: Decimal): Decimal | null {
  const below = toCents(whole)
  if (below === 0n) return null
  const above = toCents(part) * 100_000n
  const scaled = above / below
  const rounding = scaled < 0n ? -5n : 5n
  return fromCents((scaled + rounding) / 10n)
}

/** Where a value stands between 0 and max, from 0 to 1. A position on a drawing, never a figure. */
export function fractionOf(value: Decimal, max: Decimal): number {
  const whole = toCents(max)
  if (whole <= 0n) return 0
  const share = Number((toCents(value) * 10_000n) / whole) / 10_000
  return Math.min(1, Math.max(0, share))
}

function group(digits: string): string {
  return digits.replace(/\B(?=(\d{3})+$)/g, ',')
}

/** "$1,234.50", or "−$75.00"; with `signed`, a movement: "+$2.50". */
export function formatMoney(value: Decimal, { signed = false }: { signed?: boolean } = {}): string {
  const cents = toCents(value)
  const [whole = '0', fraction = '00'] = fromCents(cents < 0n ? -cents : cents).split('.')
  const sign = cents < 0n ? minus : signed && cents > 0n ? '+' : ''
  return `${sign}$${group(whole)}.${fraction}`
}

/** "40.00%", "−13.10%"; the text is used as it is when it is a plan rate ("5" gives "5%"). */
export function formatPercent(value: Decimal, { signed = false }: { signed?: boolean } = {}): string {
  const negative = value.startsWith('-')
  const sign = negative ? minus : signed && toCents(value) > 0n ? '+' : ''
  const [whole = '0', fraction] = value.replace('-', '').split('.')
  return `${sign}${group(whole)}${fraction === undefined ? '' : `.${fraction}`}%`
}

/** A share of a chart axis: "$12k". Only axes shorten amounts. */
export function formatAxis(dollars: number): string {
  const absolute = Math.abs(dollars)
  const sign = dollars < 0 ? minus : ''
  if (absolute >= 1_000_000) return `${sign}$${absolute / 1_000_000}m`
  if (absolute >= 10_000) return `${sign}$${absolute / 1000}k`
  return `${sign}$${group(String(absolute))}`
}

export type AmountProblem = 'empty' | 'invalid' | 'decimals'

/** Reads what a person typed: "$1,234.5" gives "1234.50". Says what is wrong instead of guessing. */
export function parseAmount(typed: string): { value: Decimal } | { problem: AmountProblem } {
  const plain = typed
    .trim()
    .replace(/^\$\s*/, '')
    .replaceAll(/,(?=\d{3}(\D|$))/g, '')
  if (plain === '') return { problem: 'empty' }
  if (!/^\d*(\.\d*)?$/.test(plain) || !/\d/.test(plain)) return { problem: 'invalid' }
  const [whole = '', fraction = ''] = plain.split('.')
  if (fraction.length > 2) return { problem: 'decimals' }
  return { value: fromCents(BigInt(whole || '0') * 100n + BigInt(fraction.padEnd(2, '0'))) }
}
