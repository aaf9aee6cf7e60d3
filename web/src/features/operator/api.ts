import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { adminKey } from '@/lib/admin-overview'
import { platformQuery } from '@/lib/platform'
import { administratorClient, callFunction } from '@/lib/supabase'

export interface Setting {
  key: string
  value: unknown
  kind: 'text' | 'integer' | 'boolean' | 'list' | 'time' | 'amount'
  /** Bounds of a number or an amount, or of the length of a text or list. */
  minimum: number | null
  maximum: number | null
  description: string
  updated_at: string
  updated_by_name: string | null
}

export interface Readiness {
  demo: boolean
  ready: boolean
  /** `missing` says what to do; null when nothing is. */
  items: {
    item: string
    ok: boolean
    missing: string | null
    /** Who last changed what it is made of, once it is done; null where nobody confirms it. */
    confirmed_by: string | null
    confirmed_at: string | null
  }[]
}

export interface FailedMail {
  id: number
  template: string
  recipient: string
  attempts: number
  failed_at: string
  last_error: string | null
}

export interface Jobs {
  mail: { waiting: number; failed: number; sent_today: number; oldest_waiting: string | null }
  /** Mail that was given up, newest first. */
  failed: FailedMail[]
  failed_jobs: { task: string; attempts: number; attempted_at: string | null }[]
}

async function ask<T>(body: Record<string, unknown>): Promise<T> {
  return callFunction<T>(await administratorClient(), 'admin-settings', body)
}

export const readinessQuery = queryOptions({
  queryKey: [adminKey, 'readiness'],
  queryFn: () => ask<Readiness>({ action: 'readiness' }),
  meta: { realm: 'administrator' },
})

export const settingsQuery = queryOptions({
  queryKey: [adminKey, 'settings'],
  queryFn: () => ask<Setting[]>({ action: 'list' }),
  meta: { realm: 'administrator' },
})

export const jobsQuery = queryOptions({
  queryKey: [adminKey, 'jobs'],
  queryFn: async () => callFunction<Jobs>(await administratorClient(), 'admin-jobs', { action: 'list' }),
  meta: { realm: 'administrator' },
})

/** Sends a mail that was given up once more. */
export function useRetryMail() {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: async (id: number) =>
      callFunction(await administratorClient(), 'admin-jobs', { action: 'retry_mail', id }),
    onSettled: () => queries.invalidateQueries({ queryKey: jobsQuery.queryKey }),
    meta: { realm: 'administrator' },
  })
}

export type OperatorAct =
  | { action: 'change'; key: string; value: unknown }
  | { action: 'send_test_mail' }
  | { action: 'confirm_test_mail' }
  | { action: 'leave_demo' }

/** Acts on the installation; what everybody sees of it is read again too. */
export function useOperatorAct() {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: (act: OperatorAct) => ask<{ success: true }>({ ...act }),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: [adminKey] })
      await queries.invalidateQueries({ queryKey: platformQuery.queryKey })
    },
    meta: { realm: 'administrator' },
  })
}
