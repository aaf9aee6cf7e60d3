import { describe, expect, it } from 'vitest'
import { readArrival } from './arrival'

describe('readArrival', () => {
  it('knows the mail link that signed the visitor in', () => {
    expect(readArrival('#access_token=a.b.c&expires_in=3600&type=recovery')).toEqual({
      linkType: 'recovery',
      error: null,
      message: null,
    })
  })

  it('knows a refused link', () => {
    const fragment = '#error=access_denied&error_code=otp_expired&error_description=Email+link+is+invalid'
    expect(readArrival(fragment)).toEqual({ linkType: null, error: 'otp_expired', message: null })
  })

  it('leaves an ordinary fragment alone', () => {
    expect(readArrival('#details')).toEqual({ linkType: null, error: null, message: null })
  })
})
