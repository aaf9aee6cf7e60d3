import { memberSession } from '@/lib/session'
import { toasts } from '@/lib/toast-queue'
import { fetchAccountStatus } from './api'

/**
 * The last step of every sign-in: a blocked account is told why and signed out, and so is one whose state
 * cannot be read. True when the member may go on.
 */
export async function finishSignIn(): Promise<boolean> {
  try {
    const { message } = await fetchAccountStatus()
    if (message) {
      await memberSession.drop(message)
      return false
    }
  } catch (error) {
    console.error(error)
    await memberSession.drop('Unable to verify account status. Please contact support.')
    return false
  }
  toasts.success('Signed in successfully!')
  return true
}
