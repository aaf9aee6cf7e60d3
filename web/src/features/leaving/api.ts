import { useMutation } from '@tanstack/react-query'
import { claimsOf } from '@/lib/claims'
import { saveFile } from '@/lib/csv'
import { hasCode, Refusal } from '@/lib/errors'
import type { Decimal } from '@/lib/money'
import { withPassword } from '@/lib/password-proof'
import { memberSession } from '@/lib/session'
import { callFunction, downloadFunction, memberClient, type Client } from '@/lib/supabase'

/** What closing gives up, as decimal text. */
export interface MoneyLeft {
  available: Decimal
  requestable: Decimal
  pending_withdrawals: Decimal
  pending_deposits: Decimal
}

/**
 * Does what needs the password now. With two-step sign-in this page's session has shown the second factor and counts;
 * the one that only proved the password has not.
 */
async function withOwnPassword<T>(password: string, work: (client: Client) => Promise<T>): Promise<T> {
  return withPassword({ email: memberSession.get().email ?? '', password }, async (fresh) => {
    const client = await memberClient()
    const { data } = await client.auth.getSession()
    const isFull = claimsOf(data.session?.access_token ?? '').aal === 'aal2'
    return work(isFull ? client : fresh)
  })
}

async function downloadData(password: string): Promise<void> {
  const file = await withOwnPassword(password, (client) => downloadFunction(client, 'download-data'))
  saveFile(file, `my-data-${new Date().toISOString().slice(0, 10)}.zip`)
}

export function useDownloadData() {
  return useMutation({ mutationFn: downloadData })
}

/** The figures of a refusal because of money; null of any other. */
export function moneyLeftOf(error: unknown): MoneyLeft | null {
  if (!(error instanceof Refusal) || !hasCode(error, 'money_left') || !error.details) return null
  return JSON.parse(error.details) as MoneyLeft
}

interface Closing {
  password: string
  /** The member has seen what is given up. */
  confirmed: boolean
}

async function closeAccount({ password, confirmed }: Closing): Promise<void> {
  await withOwnPassword(password, (client) => callFunction(client, 'close-account', { confirmed }))
  await memberSession.drop(
    'Your account is closed. You are signed out on every device and can no longer sign in.',
    true,
  )
}

export function useCloseAccount() {
  return useMutation({ mutationFn: closeAccount })
}
