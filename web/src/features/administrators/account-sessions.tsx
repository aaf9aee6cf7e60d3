import { MonitorSmartphone } from 'lucide-react'
import { useState } from 'react'
import { ReviewDialog } from '@/components/review-dialog'
import { Badge } from '@/components/status-badge'
import { Timestamp } from '@/components/timestamp'
import { Button } from '@/components/ui/button'
import { deviceName } from '@/lib/device-name'
import { toasts } from '@/lib/toast-queue'
import { useAccountAct, type Account, type AdminSession } from './api'

function SessionList({ sessions }: { sessions: AdminSession[] }) {
  return (
    <ul aria-label="Sessions" className="divide-y border-y">
      {sessions.map((session) => (
        <li key={session.started_at} className="py-2.5">
          <p className="flex flex-wrap items-center gap-2 font-semibold">
            {deviceName(session.user_agent)}
            {session.is_current ? <Badge icon={MonitorSmartphone}>This session</Badge> : null}
          </p>
          <p className="text-compact text-muted-foreground">
            Last used <Timestamp value={session.last_seen_at} />, signed in{' '}
            <Timestamp value={session.started_at} />
          </p>
          <p className="font-mono text-compact break-all text-muted-foreground">{session.address}</p>
        </li>
      ))}
    </ul>
  )
}

/** How many sessions an account has open; opens into where they are, and ends them. */
export function AccountSessions({ account }: { account: Account }) {
  const act = useAccountAct()
  const [open, setOpen] = useState(false)
  const count = account.sessions.length
  const own = account.sessions.some((session) => session.is_current)
  const words = `${count} ${count === 1 ? 'session' : 'sessions'}`
  // Of one's own the present one stays.
  if (count === 0 || (own && count === 1)) return <span className="tabular">{words}</span>
  return (
    <>
      <span>
        <Button
          variant="link"
          size="text"
          className="tabular"
          aria-label={`${words} of ${account.email}`}
          onClick={() => setOpen(true)}
        >
          {words}
        </Button>
      </span>
      {open ? (
        <ReviewDialog
          open
          onClose={() => setOpen(false)}
          title={`Sessions of ${account.full_name ?? account.email}`}
          facts={[{ label: 'Account', value: <span className="no-kerning">{account.email}</span> }]}
          warning={
            own
              ? 'All but this one end immediately.'
              : 'They end immediately. Anyone who knows the password and the code can sign in again.'
          }
          confirmLabel={own ? 'End my other sessions' : 'End all sessions'}
          busyLabel="Ending..."
          dismissLabel="Close"
          lateText="No response yet. You can safely try again; the change is made only once."
          destructive
          errorFallback="The sessions could not be ended."
          onConfirm={async () => {
            await act.mutateAsync({ action: 'end_sessions', adminId: account.id })
            toasts.success('The sessions were ended')
            setOpen(false)
          }}
        >
          <SessionList sessions={account.sessions} />
        </ReviewDialog>
      ) : null}
    </>
  )
}
