import { describe, expect, it } from 'vitest'
import { readArrival } from './arrival'

describe('readArrival', () => {
  it('knows the mail link that signed the visitor in', () => {
    const fragment = '#access_token=a.b.c&expires_in=3600&refresh_token=d&type=recovery'
    expect(readArrival(fragment)).toEqual({
      linkType: 'recovery',
      refreshToken: 'd',
      error: null,
      message: null,
    })
  })

  it('takes nothing for a session that could not be kept', () => {
    const nothing = { linkType: null, refreshToken: null, error: null, message: null }
    expect(readArrival('#access_token=a.b.c&type=recovery')).toEqual(nothing)
  })

  it('knows a refused link', () => {
    const fragment = '#error=access_denied&error_code=otp_expired&error_description=Email+link+is+invalid'
    expect(readArrival(fragment)).toEqual({
      linkType: null,
      refreshToken: null,
      error: 'otp_expired',
      message: null,
    })
  })

  it('leaves an ordinary fragment alone', () => {
    expect(readArrival('#details')).toEqual({
      linkType: null,
      refreshToken: null,
      error: null,
      message: null,
    })
  })
})
