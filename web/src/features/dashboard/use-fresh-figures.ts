import { useQueryClient, type UseQueryResult } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { memberQuery, refreshMember, type Member } from '@/lib/member'
import { toasts } from '@/lib/toast-queue'
import { useSyncBonuses } from './api'

const every = 5 * 60_000
const firstWait = 1000
const betweenAttempts = 2000
const attempts = 3

/** Someone is reading a dialog or typing: figures must not move under them. */
function occupied(): boolean {
  if (document.hidden || document.querySelector('[role="dialog"]')) return true
  return document.activeElement?.matches('input, textarea, select') ?? false
}

/** One silent sync per visit; figures read again every five minutes while nobody is occupied. */
export function useBackgroundRefresh(): void {
  const queries = useQueryClient()
  const { mutate: sync } = useSyncBonuses()
  const synced = useRef(false)
  useEffect(() => {
    if (synced.current) return
    synced.current = true
    sync(undefined, {
      onError: (error) => console.warn('Background sync failed; existing data is shown.', error),
    })
  }, [sync])
  useEffect(() => {
    const timer = setInterval(() => {
      if (!occupied()) void refreshMember(queries)
    }, every)
    return () => clearInterval(timer)
  }, [queries])
}

/**
 * A bonus credited a moment ago may not be there on the first reading: without any bonus the account is read
 * up to three times more, the first after one second, then two seconds apart. Nothing waits for it.
 */
export function useLateBonuses(query: UseQueryResult<Member>): void {
  const left = useRef(attempts)
  const { data, refetch, dataUpdatedAt } = query
  const { referral, pairing, override } = data?.bonuses ?? {}
  const none = data !== undefined && referral?.count === 0 && pairing?.count === 0 && override?.count === 0
  useEffect(() => {
    if (!none || left.current === 0) return
    const wait = left.current === attempts ? firstWait : betweenAttempts
    const timer = setTimeout(() => {
      left.current -= 1
      void refetch()
    }, wait)
    return () => clearTimeout(timer)
  }, [none, dataUpdatedAt, refetch])
}

/** What the Refresh button does: sync, then read again, and say how both went. */
export function useRefreshButton() {
  const queries = useQueryClient()
  const sync = useSyncBonuses()

  async function refresh() {
    let synced = true
    try {
      await sync.mutateAsync()
    } catch (error) {
      synced = false
      console.warn('Sync failed; existing data is shown.', error)
      await refreshMember(queries)
    }
    const failed = queries.getQueryState(memberQuery.queryKey)?.status === 'error'
    if (failed) toasts.error('Failed to refresh dashboard data')
    else if (synced)
      toasts.success('MLM Sync Complete', { description: 'Dashboard data refreshed successfully' })
    else toasts.error('Sync Failed', { description: 'The figures shown are the last known ones.' })
  }

  return { refresh: () => void refresh(), busy: sync.isPending }
}
