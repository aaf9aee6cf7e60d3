import { useQuery } from '@tanstack/react-query'
import { Bell } from 'lucide-react'
import { Link } from 'react-router'
import { Region } from '@/components/region'
import { Button } from '@/components/ui/button'
import { Popover } from '@/components/ui/popover'
import { Skeleton } from '@/components/ui/skeleton'
import { paths } from '@/lib/paths'
import { latestNotificationsQuery, useMarkRead } from './api'
import { NotificationRow } from './notification-row'

function bellName(unread: number): string {
  return unread === 0 ? 'Notifications' : `Notifications, ${unread} unread`
}

/** The latest ten notices. How many are unread is part of the button's name, and a dot for the eye. */
export function NotificationBell() {
  const query = useQuery(latestNotificationsQuery)
  const markRead = useMarkRead()
  const unread = query.data?.unread ?? 0
  return (
    <Popover
      align="end"
      className="flex max-h-[min(32rem,80dvh)] w-96 flex-col p-0 text-body"
      aria-label="Notifications"
      trigger={
        <Button variant="ghost" size="icon" aria-label={bellName(unread)} title={bellName(unread)}>
          <Bell aria-hidden />
          {unread > 0 ? (
            <span
              className="absolute top-2.5 right-2.5 size-2.5 rounded-mark border-2 border-card bg-lantern"
              aria-hidden
            />
          ) : null}
        </Button>
      }
    >
      {(close) => (
        <>
          <div className="flex min-h-12 items-center justify-between gap-4 border-b px-4">
            <h2 className="text-lead">Notifications</h2>
            {unread > 0 ? (
              <Button variant="link" size="text" onClick={() => markRead.mutate(null)}>
                Mark all read
              </Button>
            ) : null}
          </div>
          <div className="min-h-0 overflow-y-auto px-4">
            <Region
              query={query}
              errorText="Failed to load notifications"
              loadingText="Loading notifications"
              skeleton={<BellSkeleton />}
              isEmpty={(page) => page.items.length === 0}
              empty={
                <p className="py-6 text-muted-foreground">Decisions about your money will appear here.</p>
              }
            >
              {(page) => (
                <ul className="divide-y">
                  {page.items.map((item) => (
                    <li key={item.id}>
                      <NotificationRow
                        item={item}
                        onOpen={() => {
                          close()
                          if (item.read_at === null) markRead.mutate([item.id])
                        }}
                      />
                    </li>
                  ))}
                </ul>
              )}
            </Region>
          </div>
          <div className="border-t px-4 py-2">
            <Button asChild variant="link" size="text">
              <Link to={paths.notifications} onClick={close}>
                All notifications
              </Link>
            </Button>
          </div>
        </>
      )}
    </Popover>
  )
}

function BellSkeleton() {
  return (
    <div className="flex flex-col gap-4 py-4">
      {['w-3/4', 'w-2/3', 'w-4/5'].map((width) => (
        <div key={width} className="flex flex-col gap-2">
          <Skeleton className={width} />
          <Skeleton className="h-3 w-full" />
        </div>
      ))}
    </div>
  )
}
