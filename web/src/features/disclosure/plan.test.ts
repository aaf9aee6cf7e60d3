import { describe, expect, it } from 'vitest'
import { outcome, referralsToReach } from './plan'

describe('the plan in numbers', () => {
  it('starts at the whole loss', () => {
    expect(outcome('250.00', '250.00', 0, { referral: '5', pairing: '30' })).toEqual({
      referral: '0.00',
      pairing: '0.00',
      total: '0.00',
      result: '-250.00',
    })
  })

  it('pays pairs, not single referrals', () => {
    const rates = { referral: '5', pairing: '30' }
    expect(outcome('250.00', '250.00', 1, rates).pairing).toBe('0.00')
    expect(outcome('250.00', '250.00', 2, rates)).toMatchObject({
      referral: '25.00',
      pairing: '150.00',
      result: '-75.00',
    })
    expect(outcome('250.00', '250.00', 3, rates).pairing).toBe('150.00')
  })

  it('finds how many referrals recover the price', () => {
    expect(referralsToReach('50.00', '50.00', { referral: '5', pairing: '10' })).toBe(8)
    expect(referralsToReach('1000.00', '1000.00', { referral: '5', pairing: '50' })).toBe(2)
    expect(referralsToReach('100.00', '50.00', { referral: '5', pairing: '10' })).toBe(14)
    expect(referralsToReach('100.00', '50.00', { referral: '0', pairing: '0' })).toBeNull()
  })
})
