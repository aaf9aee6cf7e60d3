import { describe, expect, it } from 'vitest'
import { labelsThatFit, readableTop, roundTicks } from './chart-axis'

describe('roundTicks', () => {
  it.each([
    [312.5, [0, 100, 200, 300, 400]],
    [9, [0, 2.5, 5, 7.5, 10]],
    [0, [0, 25, 50, 75, 100]],
    [12_000, [0, 5000, 10_000, 15_000]],
  ])('%d', (most, ticks) => {
    expect(roundTicks(most)).toEqual(ticks)
  })
})

describe('readableTop', () => {
  it.each([
    [[], 200],
    [[80, 120, 150], 200],
    [[300, 320, 350], 400],
    // One old day does not press the others to the floor.
    [[150, 160, 170, 180, 6000], 400],
    [[39_000, 39_500, 40_000], 40_000],
  ])('%j', (ratios, top) => {
    expect(readableTop(ratios)).toBe(top)
  })
})

describe('labelsThatFit', () => {
  it('drops the smaller of two that would touch', () => {
    const large = { text: '$5.00', x: 40, y: 90 }
    const small = { text: '$2.50', x: 55, y: 92 }
    expect(labelsThatFit([small, large], 5)).toEqual([large])
  })

  it('keeps labels that stand apart', () => {
    const labels = [
      { text: '$5.00', x: 40, y: 90 },
      { text: '$2.50', x: 140, y: 92 },
    ]
    expect(labelsThatFit(labels, 5)).toHaveLength(2)
  })
})
