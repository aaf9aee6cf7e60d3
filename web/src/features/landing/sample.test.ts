import { describe, expect, it } from 'vitest'
import { formatPercent, percentOf, subtract } from '@/lib/money'
import { sample } from './sample'

const cents = (value: string) => Math.round(Number(value) * 100)

describe('the sample on the landing page', () => {
  it('follows the plan it is shown for', () => {
    for (const { left, right, bonus, state } of sample.pairs) {
      const volume = ((cents(left.value) + cents(right?.value ?? '0')) / 100).toFixed(2)
      expect(bonus).toBe(state === 'paying' ? percentOf(volume, sample.rate) : '0.00')
    }
  })

  it('adds up, and shows the loss', () => {
    const { balance, earned, packageValue } = sample
    expect(subtract(balance.available, balance.reserved)).toBe(balance.requestable)
    const net = cents(earned) - cents(packageValue)
    expect(formatPercent(sample.roi)).toBe(formatPercent(((net / cents(packageValue)) * 100).toFixed(2)))
  })
})
