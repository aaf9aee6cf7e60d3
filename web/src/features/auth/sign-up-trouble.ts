import { hasCode, Refusal } from '@/lib/errors'
import { tooShort } from './strength'

export const invalidCode = 'Invalid referral code'
export const emailKnown = 'An account with this email already exists. Sign in, or reset your password.'

/** A sign-up that cannot go on, placed where the person can mend it. */
export interface Trouble {
  field?: 'referral' | 'displayName' | 'username' | 'email' | 'password'
  message: string
}

/** Which field an error of the server is about. A code says it; the sentence is for the person. */
export function troubleOf(error: unknown, passwordLength: number): Trouble {
  if (!(error instanceof Refusal) || !error.speaks) {
    return { message: 'We couldn’t reach the server. Your answers are kept; try again.' }
  }
  const { message } = error
  if (error.status === 429) return { message: 'Too many attempts. Wait a few minutes and try again.' }
  if (hasCode(error, 'referral_code_required', 'invalid_referral_code')) return { field: 'referral', message }
  if (hasCode(error, 'invalid_display_name')) return { field: 'displayName', message }
  if (hasCode(error, 'username_taken', 'invalid_username')) return { field: 'username', message }
  if (hasCode(error, 'weak_password')) {
    return { field: 'password', message: passwordLength < 6 ? tooShort : message }
  }
  if (hasCode(error, 'user_already_exists', 'email_exists')) return { field: 'email', message: emailKnown }
  if (hasCode(error, 'email_address_invalid', 'validation_failed')) {
    return { field: 'email', message: 'Invalid email address or email already in use.' }
  }
  return { message }
}
