import { keepPreviousData, queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { adminKey } from '@/lib/admin-overview'
import { unwrap } from '@/lib/errors'
import type { Decimal } from '@/lib/money'
import { administratorClient } from '@/lib/supabase'

/** A bonus that was stored differently from what tree and packages say. */
interface Repair {
  bonus_id: string | null
  bonus_type: string
  user_id: string | null
  /** Who had it before; absent where that is the same member. */
  taken_from?: string
  old_amount: Decimal | null
  new_amount: Decimal | null
}

/** What an administrator must know and look at. The words are the server's, as in the e-mail. */
export interface Alarm {
  id: string
  kind: string
  /** "I07 <row>" of a violation; the disk, the job and so on of another alarm. */
  object: string
  rule: string | null
  details: Record<string, unknown> & { repairs?: Repair[]; says?: unknown; is?: unknown }
  problem: string
  advice: string
  /** What nobody can decide meanwhile. */
  stops: 'everybody' | 'member' | 'administrator' | 'setting' | null
  urgent: boolean
  row: {
    kind: 'deposit' | 'withdrawal' | 'bonus' | 'transaction' | 'member' | 'administrator'
    id: string
    /** Of an administrator. */
    name?: string
  } | null
  /** Who has the place in the tree that a bonus or an order names. */
  at_place: { username: string; profile_id: string } | null
  profile_id: string | null
  username: string | null
  raised_at: string
  changed_at: string
  ended_at: string | null
  mailed_at: string | null
  acknowledged_at: string | null
  acknowledged_by_name: string | null
  reason: string | null
  /** Of a repair: who the members are whose bonuses it changed, by user id. */
  members: Record<string, { username: string; profile_id: string }> | null
}

export interface Alarms {
  items: Alarm[]
  total: number
}

/** Open alarms, those first that stop decisions; or the newest of the history. */
export function alarmsQuery(status: 'open' | 'ended', pageSize: number) {
  return queryOptions({
    queryKey: [adminKey, 'alarms', status, pageSize],
    queryFn: async () =>
      unwrap(
        await (await administratorClient()).rpc('list_alarms', { p_filters: { status, pageSize } }),
      ) as unknown as Alarms,
    meta: { realm: 'administrator' },
    placeholderData: keepPreviousData,
    refetchInterval: 60_000,
  })
}

export function useAcknowledgeAlarm() {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: async (act: { id: string; reason: string }) =>
      unwrap(
        await (await administratorClient()).rpc('acknowledge_alarm', { p_id: act.id, p_reason: act.reason }),
      ),
    // Also after a refusal: it may be over by now.
    onSettled: () => queries.invalidateQueries({ queryKey: [adminKey] }),
    meta: { realm: 'administrator' },
  })
}

export function useRestoreMember() {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: async (act: { profileId: string; reason: string }) =>
      unwrap(
        await (
          await administratorClient()
        ).rpc('restore_member', { p_profile_id: act.profileId, p_reason: act.reason }),
      ),
    onSettled: () => queries.invalidateQueries({ queryKey: [adminKey] }),
    meta: { realm: 'administrator' },
  })
}

/** A counter that was not the sum of its rows. */
interface RebuiltCounter {
  kind: string
  object: string
  user_id: string | null
  old: unknown
  new: unknown
}

interface Rebuilt {
  changes: RebuiltCounter[]
  count: number
}

export function useRebuildCounters() {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: async (reason: string) =>
      unwrap(
        await (await administratorClient()).rpc('rebuild_counters', { p_reason: reason }),
      ) as unknown as Rebuilt,
    onSettled: () => queries.invalidateQueries({ queryKey: [adminKey] }),
    meta: { realm: 'administrator' },
  })
}
