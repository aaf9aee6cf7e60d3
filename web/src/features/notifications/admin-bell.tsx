import { useQuery } from '@tanstack/react-query'
import { adminNoticesQuery, useMarkNoticesRead } from './admin-api'
import { Bell } from './bell'

/** The latest ten notices of the administrators. */
export default function AdminBell() {
  const query = useQuery(adminNoticesQuery)
  const markRead = useMarkNoticesRead()
  return (
    <Bell
      query={query}
      empty="Alarms and changed settings appear here."
      onAllRead={() => markRead.mutate()}
    />
  )
}
