import { useMutation } from '@tanstack/react-query'
import { saveFile } from '@/lib/csv'
import { hasCode, Refusal } from '@/lib/errors'
import type { Decimal } from '@/lib/money'
import { withProof } from '@/lib/proof'
import { memberSession } from '@/lib/session'
import { callFunction, downloadFunction } from '@/lib/supabase'

/** What closing gives up, as decimal text. */
export interface MoneyLeft {
  available: Decimal
  requestable: Decimal
  pending_withdrawals: Decimal
  pending_deposits: Decimal
}

async function downloadData(): Promise<void> {
  const file = await withProof((client) => downloadFunction(client, 'download-data'))
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

/** `confirmed`: the member has seen what is given up. */
async function closeAccount(confirmed: boolean): Promise<void> {
  await withProof((client) => callFunction(client, 'close-account', { confirmed }))
  await memberSession.drop(
    'Your account is closed. You are signed out on every device and can no longer sign in.',
    true,
  )
}

export function useCloseAccount() {
  return useMutation({ mutationFn: closeAccount })
}
