import { useQueryClient } from '@tanstack/react-query'
import type { CreatedAccount } from '@/lib/created-account'
import { toasts } from '@/lib/toast-queue'
import { signUp, sponsorQuery } from './api'
import type { SignUpValues } from './sign-up-schema'
import { emailKnown, invalidCode, troubleOf, type Trouble } from './sign-up-trouble'

/** Creates the account of these answers. Returns what it was created with, or calls `onTrouble` and returns null. */
export function useCreateAccount(onTrouble: (trouble: Trouble) => void) {
  const client = useQueryClient()

  async function create(values: SignUpValues): Promise<CreatedAccount | Trouble> {
    const sponsor = await client.query(sponsorQuery(values.referral))
    if (!sponsor) return { field: 'referral', message: invalidCode }
    const { alreadyKnown } = await signUp({ ...values, referrerId: sponsor.id })
    if (alreadyKnown) return { field: 'email', message: emailKnown }
    const { displayName, username, email } = values
    return { referrerId: sponsor.id, displayName, username, email, createdAt: Date.now() }
  }

  return async (values: SignUpValues): Promise<CreatedAccount | null> => {
    const result = await create(values).catch((error: unknown) => {
      console.error(error)
      return troubleOf(error, values.password.length)
    })
    if ('message' in result) {
      onTrouble(result)
      toasts.error(result.field ? result.message : 'Failed to create account')
      return null
    }
    toasts.success('Account created! Please check your email for verification.')
    return result
  }
}
