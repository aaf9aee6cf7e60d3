import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { readConfig } from '@/lib/config'
import type { DepositRest } from '@/lib/deposit-rest'
import { errorText, hasCode, Refusal, unwrap } from '@/lib/errors'
import { memberKey, useRefreshMember, type Verification } from '@/lib/member'
import type { Decimal } from '@/lib/money'
import type { Package } from '@/lib/platform'
import { sessionEnd } from '@/lib/session-end'
import { memberClient } from '@/lib/supabase'
import { toasts } from '@/lib/toast-queue'
import type { StoredRequest } from '@/lib/use-one-request'
import type { PreparedReceipt } from './receipt-file'

export interface PendingDeposit {
  id: string
  amount: Decimal
  reference_number: string
  receipt_url: string
  created_at: string
  /** What is missing of it; null where nothing was asked for. */
  rest: DepositRest | null
}

/** What a member may pay for now, and where to. */
export interface DepositOptions {
  verification: Verification
  package_value: Decimal
  /** False while the operator takes no deposits; then there is no address. */
  deposits_open: boolean
  deposit_address: string | null
  /** True in demo mode: money sent there is lost. */
  deposit_address_sample: boolean
  choices: (Package & { kind: 'first' | 'upgrade' })[]
  other_amount_allowed: boolean
  pending: PendingDeposit[]
  pending_limit: number
}

export const depositOptionsQuery = queryOptions({
  queryKey: [memberKey, 'deposit-options'],
  // Another tab may have sent one meanwhile.
  refetchOnWindowFocus: 'always',
  queryFn: async () =>
    unwrap(await (await memberClient()).rpc('get_deposit_options')) as unknown as DepositOptions,
})

interface NewDeposit {
  /** Made here and kept for retries, so that pressing twice makes one deposit. */
  id: string
  /** The user whom the form names; the server refuses when another one is signed in by now. */
  userId: string
  amount: Decimal
  reference: string
  receiptUrl: string
}

/** The request as the server has it; null where it was taken but could not be read again. */
async function createDeposit(deposit: NewDeposit): Promise<(PendingDeposit & StoredRequest) | null> {
  const client = await memberClient()
  unwrap(
    await client.from('deposits').upsert(
      {
        id: deposit.id,
        user_id: deposit.userId,
        // Decimal text, which numeric reads exactly; the generated type only knows numbers.
        amount: deposit.amount as unknown as number,
        reference_number: deposit.reference,
        receipt_url: deposit.receiptUrl,
        status: 'pending',
      },
      { onConflict: 'id', ignoreDuplicates: true },
    ),
  )
  const { data } = await client
    .from('deposits')
    .select('id, amount::text, reference_number, receipt_url, created_at, status')
    .eq('id', deposit.id)
    .maybeSingle()
  return data && { ...data, rest: null }
}

export function useCreateDeposit() {
  const queries = useQueryClient()
  const refresh = useRefreshMember()
  return useMutation({
    mutationFn: createDeposit,
    onSuccess: (made) => {
      if (made?.status !== 'pending') return
      // Shown from the server's own row at once, also where the network goes away before the next reading.
      queries.setQueryData(depositOptionsQuery.queryKey, (known) =>
        known?.pending.every(({ id }) => id !== made.id)
          ? { ...known, pending: [...known.pending, made] }
          : known,
      )
    },
    // Without an answer it may have arrived: the next reading says so.
    onSettled: () => void refresh(),
  })
}

interface NewReference {
  id: string
  reference: string
}

/** Says by which transfer the rest of a deposit was sent; again with the same reference it changes nothing. */
export function useAddReference() {
  const refresh = useRefreshMember()
  return useMutation({
    mutationFn: async ({ id, reference }: NewReference) => {
      const client = await memberClient()
      unwrap(await client.rpc('add_deposit_reference', { p_id: id, p_reference: reference }))
    },
    // The form is gone by then.
    onError: (error) => {
      if (hasCode(error, 'already_decided', 'rest_not_asked'))
        toasts.error(errorText(error, ''), { money: true })
    },
    onSettled: () => refresh(),
  })
}

/** A link that shows one's own receipt for a minute. */
export async function signOwnReceipt(receiptUrl: string): Promise<string> {
  const [, path = ''] = receiptUrl.split('/object/public/receipts/')
  const { data, error } = await (await memberClient()).storage.from('receipts').createSignedUrl(path, 60)
  if (error) throw error
  return data.signedUrl
}

interface Upload {
  /** Names the object; kept for a retry, so that an upload whose answer was lost is found again. */
  timestamp: number
  retried: boolean
  onProgress: (share: number) => void
  signal: AbortSignal
}

/**
 * Puts a receipt at `{user id}/{timestamp}.{ext}` without ever overwriting, and answers its public-URL form,
 * which is what a deposit stores. Sent by XMLHttpRequest because fetch cannot tell how far an upload is.
 */
export async function uploadReceipt(receipt: PreparedReceipt, upload: Upload): Promise<string> {
  const client = await memberClient()
  const { data } = await client.auth.getSession()
  if (!data.session) {
    sessionEnd.report({ code: '', token: '' })
    throw new Refusal('Your session ended. Sign in to continue.', 401, 'session_ended')
  }
  const path = `${data.session.user.id}/${upload.timestamp}.${receipt.extension}`
  try {
    await send(path, receipt, data.session.access_token, upload)
  } catch (error) {
    const there = error instanceof Refusal && (error.status === 409 || error.code === 'Duplicate')
    if (!there || !upload.retried) throw error
  }
  return client.storage.from('receipts').getPublicUrl(path).data.publicUrl
}

function send(path: string, receipt: PreparedReceipt, token: string, upload: Upload): Promise<void> {
  const { supabaseUrl, supabaseKey } = readConfig()
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest()
    request.open('POST', `${supabaseUrl}/storage/v1/object/receipts/${path}`)
    request.setRequestHeader('authorization', `Bearer ${token}`)
    request.setRequestHeader('apikey', supabaseKey)
    request.setRequestHeader('content-type', receipt.contentType)
    request.setRequestHeader('x-upsert', 'false')
    request.upload.onprogress = (event) => {
      if (event.lengthComputable) upload.onProgress(event.loaded / event.total)
    }
    request.onload = () => {
      if (request.status < 300) {
        resolve()
        return
      }
      const refusal = refused(request)
      if (refusal.status === 401) sessionEnd.report({ code: refusal.code, token })
      reject(refusal)
    }
    request.onerror = () => reject(new Refusal('', 0, 'network'))
    request.onabort = () => reject(new DOMException('Cancelled', 'AbortError'))
    upload.signal.addEventListener('abort', () => request.abort(), { once: true })
    request.send(receipt.blob)
  })
}

/** Storage answers 400 with the real status in its body. */
function refused(request: XMLHttpRequest): Refusal {
  let said: { statusCode?: string; error?: string; message?: string } = {}
  try {
    said = JSON.parse(request.responseText) as typeof said
  } catch {
    // Not its own answer, such as a gateway's: the status then has to do.
  }
  return new Refusal(said.message ?? '', Number(said.statusCode ?? request.status), said.error ?? '')
}
