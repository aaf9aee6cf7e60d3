import { describe, expect, it } from 'vitest'
import { downgradeText, explainMeaning, readAmount } from './amount'

const packages = [
  { value: '50.00', label: 'Starter', rate: '10' },
  { value: '100.00', label: 'Basic', rate: '20' },
  { value: '250.00', label: 'Standard', rate: '30' },
]

describe('readAmount', () => {
  it('takes a package price, and nothing else, as a first deposit', () => {
    expect(readAmount('100', packages, '0.00')).toEqual({ kind: 'first', package: packages[1] })
    expect(readAmount('99.99', packages, '0.00').kind).toBe('refused')
  })

  it('recognises an upgrade however it was typed', () => {
    const meaning = readAmount('250.00', packages, '100.00')
    expect(meaning).toEqual({ kind: 'upgrade', package: packages[2] })
    expect(explainMeaning(meaning)).toContain('costs the full $250.00. What you paid before is not deducted.')
  })

  it('refuses the price of a package that is not higher', () => {
    expect(readAmount('100.00', packages, '100.00')).toEqual({ kind: 'refused', text: downgradeText })
    expect(readAmount('50.00', packages, '100.00')).toEqual({ kind: 'refused', text: downgradeText })
  })

  it('calls everything else cash-in', () => {
    const meaning = readAmount('75.50', packages, '100.00')
    expect(meaning).toEqual({ kind: 'cash-in' })
    expect(explainMeaning(meaning)).toBe(
      'Counts as cash-in. Does not change your package. Cannot be withdrawn.',
    )
  })
})
