import { describe, expect, it } from 'vitest'
import { Refusal } from '@/lib/errors'
import { troubleOf } from './sign-up-trouble'

const refused = (code: string, message = 'Any sentence.') => new Refusal(message, 400, code)

describe('troubleOf', () => {
  it.each([
    ['referral_code_required', 'referral'],
    ['invalid_referral_code', 'referral'],
    ['invalid_display_name', 'displayName'],
    ['username_taken', 'username'],
    ['invalid_username', 'username'],
    ['weak_password', 'password'],
    ['email_exists', 'email'],
    ['email_address_invalid', 'email'],
  ])('places %s at %s', (code, field) => {
    expect(troubleOf(refused(code), 8).field).toBe(field)
  })

  it('does not read the sentence', () => {
    expect(troubleOf(refused('other', 'Username and referral code are wrong.'), 8)).toEqual({
      message: 'Username and referral code are wrong.',
    })
    expect(troubleOf(refused('username_taken', 'Taken.'), 8)).toEqual({
      field: 'username',
      message: 'Taken.',
    })
  })

  it('says that the server was not reached', () => {
    expect(troubleOf(new Refusal('x', 0, ''), 8).message).toContain('couldn’t reach the server')
  })
})
