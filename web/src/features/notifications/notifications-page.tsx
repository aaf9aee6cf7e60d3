import { useInfiniteQuery } from '@tanstack/react-query'
import { EmptyState } from '@/components/empty-state'
import { PageBody } from '@/components/page-body'
import { PageHead } from '@/components/page-head'
import { Region } from '@/components/region'
import { Button } from '@/components/ui/button'
import { Skeleton } from '@/components/ui/skeleton'
import { formatDay } from '@/lib/dates'
import { notificationsQuery, useMarkRead, type Notification } from './api'
import { NotificationRow } from './notification-row'

/** All notices, by day. */
export function NotificationsPage() {
  const query = useInfiniteQuery(notificationsQuery)
  const markRead = useMarkRead()
  const items = query.data?.pages.flatMap((page) => page.items) ?? []
  const unread = query.data?.pages[0]?.unread ?? 0
  return (
    <PageBody className="flex flex-col gap-6">
      <PageHead
        title="Notifications"
        purpose="Decisions about your money, your account and your team."
        actions={
          unread > 0 ? (
            <Button variant="outline" onClick={() => markRead.mutate(null)}>
              Mark all read
            </Button>
          ) : undefined
        }
      />
      <Region
        query={query}
        errorText="Failed to load notifications"
        loadingText="Loading notifications"
        skeleton={<Skeleton className="h-80 w-full max-w-[720px] rounded-card" />}
        isEmpty={() => items.length === 0}
        empty={
          <EmptyState
            drawing="mooring"
            title="Nothing yet"
            text="Decisions about your money will appear here."
          />
        }
      >
        {() => (
          <div className="flex max-w-[720px] flex-col gap-6">
            {byDay(items).map(([day, ofDay]) => (
              <section key={day} aria-label={day}>
                <h2 className="text-body text-muted-foreground">{day}</h2>
                <ul className="mt-2 divide-y rounded-card border bg-card px-4 md:px-5">
                  {ofDay.map((item) => (
                    <li key={item.id}>
                      <NotificationRow
                        item={item}
                        onOpen={() => {
                          if (item.read_at === null) markRead.mutate([item.id])
                        }}
                      />
                    </li>
                  ))}
                </ul>
              </section>
            ))}
            {query.hasNextPage ? (
              <Button
                variant="outline"
                className="self-start"
                busy={query.isFetchingNextPage && 'Loading'}
                onClick={() => void query.fetchNextPage()}
              >
                Show older ones
              </Button>
            ) : null}
          </div>
        )}
      </Region>
    </PageBody>
  )
}

function byDay(items: Notification[]): [string, Notification[]][] {
  const today = formatDay(new Date())
  const days = new Map<string, Notification[]>()
  for (const item of items) {
    const day = formatDay(new Date(item.created_at))
    const name = day === today ? 'Today' : day
    days.set(name, [...(days.get(name) ?? []), item])
  }
  return [...days]
}
