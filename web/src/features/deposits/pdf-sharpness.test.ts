import { describe, expect, it } from 'vitest'
import { sharpness } from './pdf-sharpness'

const a4 = { width: 595, height: 842 }

describe('sharpness', () => {
  it('gives each pixel of the screen one of the page', () => {
    expect(sharpness(a4, 595, 1)).toBe(1)
    expect(sharpness(a4, 1190, 2)).toBe(4)
  })

  it('stays within what a canvas can hold', () => {
    const scale = sharpness(a4, 2490, 3)
    expect(a4.width * scale * a4.height * scale).toBeCloseTo(2 ** 24)
    expect(sharpness({ width: 1, height: 32_768 }, 800, 1)).toBe(0.5)
  })
})
