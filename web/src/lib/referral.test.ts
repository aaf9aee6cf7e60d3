import { beforeEach, describe, expect, it, vi } from 'vitest'
import { referral } from './referral'

const day = 24 * 3_600_000
const values = new Map<string, string>()

beforeEach(() => {
  values.clear()
  vi.stubGlobal('localStorage', {
    getItem: (key: string) => values.get(key) ?? null,
    setItem: (key: string, value: string) => values.set(key, value),
    removeItem: (key: string) => values.delete(key),
  })
})

describe('referral', () => {
  it('keeps the first code for 30 days', () => {
    referral.meet('mara', 0)
    expect(referral.read(29 * day)).toEqual({ kept: 'mara', offered: null })
    expect(referral.read(30 * day)).toEqual({ kept: null, offered: null })
  })

  it('never changes the sponsor without asking', () => {
    referral.meet('mara', 0)
    expect(referral.meet('ben', day)).toEqual({ kept: 'mara', offered: 'ben' })
    expect(referral.choose('ben', day)).toEqual({ kept: 'ben', offered: null })
  })

  it('takes the same link twice', () => {
    referral.meet('mara', 0)
    expect(referral.meet('mara', day)).toEqual({ kept: 'mara', offered: null })
  })
})
