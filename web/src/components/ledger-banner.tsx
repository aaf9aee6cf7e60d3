import { useQuery } from '@tanstack/react-query'
import { Link } from 'react-router'
import { adminOverviewQuery, type AlarmSummary } from '@/lib/admin-overview'
import { paths } from '@/lib/paths'
import { Notice } from './notice'
import { Button } from './ui/button'

function waits(alarms: AlarmSummary): string {
  if (alarms.stops_everybody) return 'Nothing about money can be decided until this is resolved.'
  const members = alarms.stopped_members.length
  return `Decisions about the money of ${members === 1 ? 'one member' : `${members} members`} wait until this is resolved.`
}

const most = 3

interface LedgerBannerProps {
  userId?: string
  /** A repair of rows is what ends an alarm, so it does not wait for one. */
  repairs?: boolean
  className?: string
}

/** Which checks of the ledger fail and what that stops, wherever money is decided; of one member only where one is named. */
export function LedgerBanner({ userId, repairs, className }: LedgerBannerProps) {
  const alarms = useQuery(adminOverviewQuery).data?.alarms
  if (!alarms || alarms.stopping === 0) return null
  const concerned = !userId || alarms.stops_everybody || alarms.stopped_members.includes(userId)
  if (!concerned) return null
  const problems = Object.values(alarms.rules)
  return (
    <Notice
      tone="negative"
      role="status"
      title="The ledger differs"
      className={className}
      action={
        <Button variant="outline" size="compact" asChild>
          <Link to={paths.admin.alarms}>See alarms</Link>
        </Button>
      }
    >
      {userId ? (
        <p>
          {repairs
            ? 'A check of the ledger fails. This repair does not wait for the alarm.'
            : 'A check of the ledger fails: this cannot be decided until the alarm is acknowledged.'}
        </p>
      ) : (
        <>
          <p>
            {alarms.stopping === 1 ? 'One alarm is open.' : `${alarms.stopping} alarms are open.`}{' '}
            {waits(alarms)}
          </p>
          <ul className="mt-1 list-disc pl-5">
            {problems.slice(0, most).map((problem) => (
              <li key={problem}>{problem}</li>
            ))}
            {problems.length > most ? <li>And {problems.length - most} more.</li> : null}
          </ul>
        </>
      )}
    </Notice>
  )
}
