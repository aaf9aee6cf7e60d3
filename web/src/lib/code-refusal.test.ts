import { describe, expect, it } from 'vitest'
import { codeRefusal } from './code-refusal'
import { Refusal } from './errors'

const unanswered = 'We couldn’t reach the server. Check your connection and try again.'

describe('codeRefusal', () => {
  it.each([
    [new Refusal('Invalid TOTP code entered', 422, 'mfa_verification_failed'), /did not match/],
    [new Refusal('MFA challenge has expired', 422, 'mfa_challenge_expired'), /did not match/],
    [new Refusal('Request rate limit reached', 429, 'over_request_rate_limit'), /^Too many attempts/],
    [new Refusal('Challenge and verify IP addresses mismatch.', 422, 'mfa_ip_address_mismatch'), /mismatch/],
    [new Refusal('', 0, 'network'), unanswered],
    [new Refusal('Bad gateway', 502, ''), unanswered],
    [new TypeError('Failed to fetch'), unanswered],
  ])('%o', (error, text) => {
    expect(codeRefusal(error)).toMatch(text)
  })
})
