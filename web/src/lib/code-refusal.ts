import { errorText, hasCode, Refusal, unreachableText } from './errors'

/** Why an authenticator's code was not taken. Only a code that was looked at and refused "did not match". */
export function codeRefusal(error: unknown): string {
  if (hasCode(error, 'mfa_verification_failed', 'mfa_challenge_expired'))
    return 'That code did not match. Codes change every 30 seconds.'
  if (error instanceof Refusal && error.status === 429)
    return 'Too many attempts. Wait a few minutes and try again.'
  return errorText(error, unreachableText)
}
