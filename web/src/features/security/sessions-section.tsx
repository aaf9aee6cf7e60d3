import { useQuery } from '@tanstack/react-query'
import { MonitorSmartphone } from 'lucide-react'
import { useRef } from 'react'
import { Region } from '@/components/region'
import { Badge } from '@/components/status-badge'
import { Timestamp } from '@/components/timestamp'
import { Button } from '@/components/ui/button'
import { Skeleton } from '@/components/ui/skeleton'
import { formatDay } from '@/lib/dates'
import { deviceName } from '@/lib/device-name'
import { toasts } from '@/lib/toast-queue'
import { sessionsQuery, useEndSession, type OpenSession } from './api'

/** Where the member is signed in, and the way to end it there. */
export function SessionsSection() {
  const query = useQuery(sessionsQuery)
  return (
    <Region
      query={query}
      errorText="Your sessions did not load."
      loadingText="Loading your sessions"
      skeleton={<Skeleton className="h-28 w-full" />}
    >
      {(sessions) => <Sessions sessions={sessions} />}
    </Region>
  )
}

function Sessions({ sessions }: { sessions: OpenSession[] }) {
  const list = useRef<HTMLUListElement>(null)
  const end = useEndSession()
  const others = sessions.filter((session) => !session.is_current)

  async function endNow(id: string | null): Promise<void> {
    try {
      await end.mutateAsync(id)
      toasts.success(id === null ? 'All other sessions were ended' : 'The session was ended')
      // The button that was pressed is gone with its session.
      list.current?.focus()
    } catch {
      toasts.error('The session could not be ended. Please try again.')
    }
  }

  return (
    <div className="flex flex-col gap-4">
      <p className="text-muted-foreground">
        Everywhere you are signed in. A session ends after 30 days without use, and 180 days after signing in.
        One that you end here is signed out immediately.
      </p>
      <ul ref={list} tabIndex={-1} aria-label="Sessions" className="divide-y rounded-mark border-y">
        {sessions.map((session) => (
          <SessionRow
            key={session.id}
            session={session}
            busy={end.isPending && end.variables === session.id}
            onEnd={() => void endNow(session.id)}
          />
        ))}
      </ul>
      {others.length > 0 ? (
        <Button
          variant="outline"
          className="self-start"
          busy={end.isPending && end.variables === null && 'Ending...'}
          onClick={() => void endNow(null)}
        >
          End all others
        </Button>
      ) : (
        <p>You are not signed in anywhere else.</p>
      )}
    </div>
  )
}

interface SessionRowProps {
  session: OpenSession
  busy: boolean
  onEnd: () => void
}

function SessionRow({ session, busy, onEnd }: SessionRowProps) {
  const device = deviceName(session.user_agent)
  return (
    <li className="flex flex-wrap items-center justify-between gap-3 py-3">
      <div className="min-w-0">
        <p className="font-semibold">{device}</p>
        <p className="text-compact text-muted-foreground">
          Last used <Timestamp value={session.last_used_at} />, signed in{' '}
          <Timestamp value={session.created_at} />
        </p>
        {session.ends_at ? (
          <p className="text-compact text-muted-foreground">
            Ends on {formatDay(new Date(session.ends_at))} without further use
          </p>
        ) : null}
      </div>
      {session.is_current ? (
        <Badge icon={MonitorSmartphone}>This device</Badge>
      ) : (
        <Button
          variant="outline"
          size="compact"
          aria-label={`End session: ${device}`}
          busy={busy && 'Ending...'}
          onClick={onEnd}
        >
          End session
        </Button>
      )}
    </li>
  )
}
