import { describe, expect, it } from 'vitest'
import { emailChangeText } from './email-change'

const change = { old_email: 'old@a.test', new_email: 'new@b.test' }
const until = 'Until then we use old@a.test.'

describe('emailChangeText', () => {
  it.each([
    [
      false,
      false,
      `Email changes once the links sent to old@a.test and new@b.test are both opened. ${until}`,
    ],
    [
      true,
      false,
      `The link sent to old@a.test was opened. Email changes once the one sent to new@b.test is opened too. ${until}`,
    ],
    [
      false,
      true,
      `The link sent to new@b.test was opened. Email changes once the one sent to old@a.test is opened too. ${until}`,
    ],
  ])('old opened: %s, new opened: %s', (old_confirmed, new_confirmed, text) => {
    expect(emailChangeText({ ...change, old_confirmed, new_confirmed })).toBe(text)
  })
})
