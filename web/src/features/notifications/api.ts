import { infiniteQueryOptions, queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { unwrap } from '@/lib/errors'
import { memberKey } from '@/lib/member'
import type { Decimal } from '@/lib/money'
import { memberClient } from '@/lib/supabase'

export interface Notification {
  id: string
  kind: string
  title: string
  body: string
  amount: Decimal | null
  read_at: string | null
  created_at: string
  /** A path of this site. */
  link: string | null
}

export interface NotificationPage {
  items: Notification[]
  /** Where the next page begins; null after the last. */
  next: string | null
  unread: number
}

const listKey = [memberKey, 'notifications']
const everyMinute = 60_000

async function fetchNotifications(before: string | null, limit: number): Promise<NotificationPage> {
  const client = await memberClient()
  return unwrap(
    await client.rpc('get_notifications', { p_before: before ?? undefined, p_limit: limit }),
  ) as unknown as NotificationPage
}

/** The latest ten, for the bell. Read again each minute while the tab is visible. */
export const latestNotificationsQuery = queryOptions({
  queryKey: [...listKey, 'latest'],
  queryFn: () => fetchNotifications(null, 10),
  refetchInterval: everyMinute,
})

export const notificationsQuery = infiniteQueryOptions({
  queryKey: [...listKey, 'all'],
  queryFn: ({ pageParam }) => fetchNotifications(pageParam, 25),
  initialPageParam: null as string | null,
  getNextPageParam: (last) => last.next,
})

function read(page: NotificationPage, ids: string[] | null, at: string): NotificationPage {
  const hit = (item: Notification) => item.read_at === null && (ids === null || ids.includes(item.id))
  const count = ids === null ? page.unread : page.items.filter(hit).length
  return {
    ...page,
    items: page.items.map((item) => (hit(item) ? { ...item, read_at: at } : item)),
    unread: Math.max(0, page.unread - count),
  }
}

/** Marks some, or with null all, as read; shown at once, taken back when the server refuses. */
export function useMarkRead() {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: async (ids: string[] | null) => {
      const answer = await (await memberClient()).rpc('mark_notifications_read', { p_ids: ids ?? undefined })
      if (answer.error) unwrap(answer)
    },
    onMutate: async (ids) => {
      await queries.cancelQueries({ queryKey: listKey })
      const at = new Date().toISOString()
      queries.setQueryData(latestNotificationsQuery.queryKey, (page) => page && read(page, ids, at))
      queries.setQueryData(
        notificationsQuery.queryKey,
        (data) => data && { ...data, pages: data.pages.map((page) => read(page, ids, at)) },
      )
    },
    onSettled: () => queries.invalidateQueries({ queryKey: listKey }),
  })
}
