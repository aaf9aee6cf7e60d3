import type { UseQueryResult } from '@tanstack/react-query'
import { Bell as BellIcon } from 'lucide-react'
import type { ReactNode } from 'react'
import { Region } from '@/components/region'
import { Button } from '@/components/ui/button'
import { Popover } from '@/components/ui/popover'
import { Skeleton } from '@/components/ui/skeleton'
import type { Notification, NotificationPage } from './api'
import { NotificationRow } from './notification-row'

interface BellProps {
  query: UseQueryResult<Pick<NotificationPage, 'items' | 'unread'>>
  empty: string
  onAllRead: () => void
  onOpen?: (item: Notification) => void
  /** What follows the latest ten. */
  footer?: (close: () => void) => ReactNode
}

function bellName(unread: number): string {
  return unread === 0 ? 'Notifications' : `Notifications, ${unread} unread`
}

/** The latest ten notices. How many are unread is part of the button's name, and a dot for the eye. */
export function Bell({ query, empty, onAllRead, onOpen, footer }: BellProps) {
  const unread = query.data?.unread ?? 0
  return (
    <Popover
      align="end"
      className="flex max-h-[min(32rem,80dvh)] w-96 flex-col p-0 text-body"
      aria-label="Notifications"
      trigger={
        <Button variant="ghost" size="icon" aria-label={bellName(unread)} title={bellName(unread)}>
          <BellIcon aria-hidden />
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
              <Button variant="link" size="text" onClick={onAllRead}>
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
              empty={<p className="py-6 text-muted-foreground">{empty}</p>}
            >
              {(page) => (
                <ul className="divide-y">
                  {page.items.map((item) => (
                    <li key={item.id}>
                      <NotificationRow
                        item={item}
                        onOpen={() => {
                          close()
                          onOpen?.(item)
                        }}
                      />
                    </li>
                  ))}
                </ul>
              )}
            </Region>
          </div>
          {footer ? <div className="border-t px-4 py-2">{footer(close)}</div> : null}
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
