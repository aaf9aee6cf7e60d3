import { useQuery } from '@tanstack/react-query'
import { Link } from 'react-router'
import { Button } from '@/components/ui/button'
import { paths } from '@/lib/paths'
import { latestNotificationsQuery, useMarkRead } from './api'
import { Bell } from './bell'

/** A member's latest ten notices. */
export function NotificationBell() {
  const query = useQuery(latestNotificationsQuery)
  const markRead = useMarkRead()
  return (
    <Bell
      query={query}
      empty="Decisions about your money will appear here."
      onAllRead={() => markRead.mutate(null)}
      onOpen={(item) => item.read_at === null && markRead.mutate([item.id])}
      footer={(close) => (
        <Button asChild variant="link" size="text">
          <Link to={paths.notifications} onClick={close}>
            All notifications
          </Link>
        </Button>
      )}
    />
  )
}
