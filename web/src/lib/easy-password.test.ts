import { describe, expect, it } from 'vitest'
import { isEasyToGuess } from './easy-password'

describe('isEasyToGuess', () => {
  it.each([
    ['      ', true],
    [' \t \u00a0 ', true],
    ['aaAAaa', true],
    ['JUNE_1', true],
    ['June.N@example.org', true],
    ['june.n', true],
    ['june.n-lantern', false],
    ['aaaaab', false],
  ])('"%s": %s', (password, expected) => {
    expect(isEasyToGuess(password, 'june_1', 'june.n@Example.org')).toBe(expected)
  })
})
