import { describe, expect, it } from 'vitest'
import { withdrawProblem } from './withdraw-schema'

const verification = {
  hasProfile: true,
  hasWallet: true,
  hasVerifiedAccount: true,
  canDeposit: true,
  canWithdraw: true,
  cashInAmount: '500.00',
  packageValue: '500.00',
  sufficientCashIn: true,
  missingCashIn: null,
  verificationStep: 'complete' as const,
  stepMessage: 'Account fully verified and ready',
}
const balance = {
  available: '284.50',
  reserved: '100.00',
  requestable: '184.50',
  approved_withdrawals: '150.00',
  hold_until: null,
}
const options = { balance, minimum: '100.00', verification }

describe('withdrawProblem', () => {
  it.each([
    ['', 'Enter an amount'],
    ['abc', 'Enter an amount in dollars, such as 250.00'],
    ['120.555', 'Use at most 2 decimals'],
    ['0', 'Enter an amount above $0.00'],
    ['184.51', 'Insufficient balance. Available: $184.50'],
    ['99.99', 'Minimum withdrawal amount is $100'],
    ['$184.50', null],
    ['100', null],
  ])('%s', (typed, text) => {
    expect(withdrawProblem(typed, options)).toBe(text)
  })

  it('speaks of the account last', () => {
    const unverified = { ...options, verification: { ...verification, canWithdraw: false } }
    expect(withdrawProblem('99', unverified)).toBe('Minimum withdrawal amount is $100')
    expect(withdrawProblem('100', unverified)).toBe(
      'Please complete your profile, settings, and account verification first',
    )
  })
})
