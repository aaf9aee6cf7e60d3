import { add, compare, fromCents, percentOf, subtract, toCents, type Decimal } from '@/lib/money'

export interface PlanRates {
  /** Percent of a direct referral's package. */
  referral: Decimal
  /** Percent of a pair's volume for its owner, by the owner's package. */
  pairing: Decimal
}

export interface Outcome {
  referral: Decimal
  pairing: Decimal
  total: Decimal
  /** What came in less what the package cost. */
  result: Decimal
}

function times(amount: Decimal, count: number): Decimal {
  return fromCents(toCents(amount) * BigInt(count))
}

/**
 * What the owner of a package has received once `referrals` people have each funded a package of `theirs`:
 * a referral bonus for each, and the pairing rate on each complete pair. Arithmetic on the plan, no more.
 */
export function outcome(price: Decimal, theirs: Decimal, referrals: number, rates: PlanRates): Outcome {
  const referral = times(percentOf(theirs, rates.referral), referrals)
  const pairing = times(percentOf(times(theirs, 2), rates.pairing), Math.floor(referrals / 2))
  const total = add(referral, pairing)
  return { referral, pairing, total, result: subtract(total, price) }
}

const mostReferrals = 1000

/** How many funded direct referrals with the same package bring at least `goal`; null when no number does. */
export function referralsToReach(goal: Decimal, price: Decimal, rates: PlanRates): number | null {
  for (let count = 1; count <= mostReferrals; count++) {
    if (compare(outcome(price, price, count, rates).total, goal) >= 0) return count
  }
  return null
}
