import { describe, expect, it } from 'vitest'
import { passwordStrength } from './strength'

describe('passwordStrength', () => {
  it.each([
    ['abc', 'too short'],
    ['aaaaaa', 'too easy to guess'],
    ['harbour', 'weak'],
    ['lighthouse', 'fair'],
    ['Lamp-quay-19', 'good'],
    ['quiet Harbour at 5, no wind', 'strong'],
  ])('%s is %s', (password, word) => {
    expect(passwordStrength(password).word).toBe(word)
  })
})
