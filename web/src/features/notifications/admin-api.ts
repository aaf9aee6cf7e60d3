import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { adminKey } from '@/lib/admin-overview'
import { unwrap } from '@/lib/errors'
import { administratorClient } from '@/lib/supabase'
import type { Notification } from './api'

interface AdminNotices {
  items: (Pick<Notification, 'id' | 'kind' | 'title' | 'body' | 'link' | 'created_at'> & {
    unread: boolean
  })[]
  unread: number
}

const key = [adminKey, 'notices']

/** The latest ten notices of all administrators, and how many of all this one has not read. */
export const adminNoticesQuery = queryOptions({
  queryKey: key,
  queryFn: async () => {
    const client = await administratorClient()
    const { items, unread } = unwrap(
      await client.rpc('get_admin_notices', { p_limit: 10 }),
    ) as unknown as AdminNotices
    return {
      items: items.map(({ unread: isNew, ...item }): Notification => ({
        ...item,
        amount: null,
        read_at: isNew ? null : item.created_at,
      })),
      unread,
    }
  },
  meta: { realm: 'administrator' },
  refetchInterval: 60_000,
})

/** The server knows until when everything is read, not which notice is. */
export function useMarkNoticesRead() {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: async () => unwrap(await (await administratorClient()).rpc('mark_admin_notices_read')),
    onSettled: () => queries.invalidateQueries({ queryKey: key }),
    meta: { realm: 'administrator' },
  })
}
