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
    expect(referral.read(29 * day)).toEqual(['mara'])
    expect(referral.read(30 * day)).toEqual([])
  })

  it('never changes the sponsor without asking', () => {
    referral.meet('mara', 0)
    expect(referral.meet('ben', day)).toEqual(['mara', 'ben'])
    expect(referral.choose('ben', day)).toEqual(['ben'])
  })

  it('takes the same link twice', () => {
    referral.meet('mara', 0)
    expect(referral.meet('mara', day)).toEqual(['mara'])
    referral.meet('ben', day)
    expect(referral.meet('ben', day)).toEqual(['mara', 'ben'])
  })

  it('drops what does not exist, in any order', () => {
    referral.meet('nobody', 0)
    referral.meet('mara', 0)
    expect(referral.drop(['nobody'], day)).toEqual(['mara'])
    referral.meet('no_one', day)
    expect(referral.drop(['no_one'], day)).toEqual(['mara'])
    expect(referral.drop(['mara'], day)).toEqual([])
    expect(values.size).toBe(0)
  })

  it('keeps the first and the newest of many', () => {
    for (const code of ['a', 'b', 'c', 'd', 'e', 'f']) referral.meet(code, 0)
    expect(referral.read(0)).toEqual(['a', 'c', 'd', 'e', 'f'])
  })

  it('knows nothing of what others stored there', () => {
    values.set('referral', '{"kept":"mara","savedAt":0}')
    expect(referral.read(0)).toEqual([])
  })
})
