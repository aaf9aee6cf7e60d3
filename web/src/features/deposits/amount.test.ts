import { describe, expect, it } from 'vitest'
import { cashInText, downgradeText, explainMeaning, readAmount, type Offer } from './amount'

const packages = [
  { value: '50.00', label: 'Starter', rate: '10' },
  { value: '100.00', label: 'Basic', rate: '20' },
  { value: '250.00', label: 'Standard', rate: '30' },
]

const first: Offer = {
  verification: { missingCashIn: null },
  choices: packages.map((one) => ({ ...one, kind: 'first' })),
  other_amount_allowed: false,
}

/** With the second package. */
const paid: Offer = {
  verification: { missingCashIn: null },
  choices: packages.slice(2).map((one) => ({ ...one, kind: 'upgrade' })),
  other_amount_allowed: true,
}

describe('readAmount', () => {
  it('takes a package price, and nothing else, as a first deposit', () => {
    expect(readAmount('100', packages, first)).toEqual({ kind: 'first', package: packages[1] })
    expect(readAmount('99.99', packages, first).kind).toBe('refused')
  })

  it('recognises an upgrade however it was typed', () => {
    const meaning = readAmount('250.00', packages, paid)
    expect(meaning).toEqual({ kind: 'upgrade', package: packages[2] })
    expect(explainMeaning(meaning)).toContain('costs the full $250.00. What you paid before is not deducted.')
  })

  it('refuses the price of a package that is not higher', () => {
    expect(readAmount('100.00', packages, paid)).toEqual({ kind: 'refused', text: downgradeText })
    expect(readAmount('50.00', packages, paid)).toEqual({ kind: 'refused', text: downgradeText })
  })

  it('calls everything else cash-in', () => {
    const meaning = readAmount('75.50', packages, paid)
    expect(meaning).toEqual({ kind: 'cash-in' })
    expect(explainMeaning(meaning)).toBe(cashInText)
  })

  it('takes an amount up to what is missing as cash-in, also where it is a package price', () => {
    const owing: Offer = { ...paid, verification: { missingCashIn: '50.00' } }
    expect(readAmount('50.00', packages, owing)).toEqual({ kind: 'cash-in' })
    expect(readAmount('49.99', packages, owing)).toEqual({ kind: 'cash-in' })
    expect(readAmount('50.01', packages, owing)).toEqual({ kind: 'cash-in' })
  })

  it('refuses above what is missing the price of a package that is not higher', () => {
    const owing: Offer = { ...paid, verification: { missingCashIn: '99.99' } }
    expect(readAmount('100.00', packages, owing)).toEqual({ kind: 'refused', text: downgradeText })
    expect(readAmount('250.00', packages, owing).kind).toBe('upgrade')
  })
})
