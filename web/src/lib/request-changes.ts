import { queryOptions } from '@tanstack/react-query'
import { adminKey } from './admin-overview'
import type { AskedRest } from './deposit-rest'
import { unwrap } from './errors'
import type { Decimal } from './money'
import { administratorClient } from './supabase'

export type RequestNoun = 'deposit' | 'withdrawal'

export interface RequestCounts {
  pending: number
  approved: number
  rejected: number
  /** Of approved withdrawals. */
  paid?: number
  unpaid?: number
}

/** A request that is no longer pending. */
export interface DecidedRequest {
  id: string
  status: 'approved' | 'rejected'
  admin_notes: string | null
  decided_at: string
  /** Null when its member took it back. */
  decided_by: string | null
  decided_by_name: string | null
  voided_at: string | null
  payout_reference: string | null
  received_amount?: Decimal | null
}

export interface RequestChanges {
  counts: RequestCounts
  decided: DecidedRequest[]
  /** Of those deposits that wait for one; not known before it is asked. */
  rests?: { id: string; rest: AskedRest }[]
}

async function loadChanges(noun: RequestNoun, ids: string[]): Promise<RequestChanges> {
  const client = await administratorClient()
  const answer = await client.rpc('get_request_changes', { p_noun: `${noun}s`, p_ids: ids })
  return unwrap(answer) as unknown as RequestChanges
}

/** One request as the server has it now; null while it is pending. */
export async function readDecided(noun: RequestNoun, id: string): Promise<DecidedRequest | null> {
  return (await loadChanges(noun, [id])).decided[0] ?? null
}

const often = 20_000

/** What has changed since a list was read: asked while it is looked at, and for the first time after a while. */
export function requestChangesQuery(noun: RequestNoun, ids: string[], counts: RequestCounts | undefined) {
  return queryOptions({
    queryKey: [adminKey, noun, 'changes', ids],
    queryFn: () => loadChanges(noun, ids),
    enabled: counts !== undefined,
    initialData: counts && { counts, decided: [] },
    refetchInterval: often,
    meta: { realm: 'administrator' },
  })
}
