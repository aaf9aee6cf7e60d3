import { CircleAlert, CircleCheck, Clock } from 'lucide-react'
import { Link } from 'react-router'
import { Timestamp } from '@/components/timestamp'
import type { AdminOverview } from '@/lib/admin-overview'
import { cn } from '@/lib/cn'
import { paths } from '@/lib/paths'

function Found({ violations }: { violations: number }) {
  if (violations === 0) return 'The ledger checks found nothing wrong.'
  return (
    <>
      The ledger checks found{' '}
      {violations === 1 ? 'one problem, which is' : `${violations} problems, which are`}{' '}
      <Link to={paths.admin.alarms} className="rounded-mark font-semibold text-primary hover:underline">
        acknowledged
      </Link>
      .
    </>
  )
}

/** What the last ledger check found, and when, unless the banner says what is wrong. */
export function LedgerState({ overview }: { overview: AdminOverview }) {
  const { violations, checked_at: checkedAt } = overview.books
  if (overview.alarms.stopping > 0) return null
  const [Icon, tone] =
    checkedAt === null
      ? [Clock, '']
      : violations === 0
        ? [CircleCheck, 'text-positive']
        : [CircleAlert, 'text-warning']
  return (
    <p className="mt-3 flex gap-2 text-compact text-muted-foreground">
      <Icon aria-hidden className={cn('mt-0.5 size-4 shrink-0', tone)} />
      {checkedAt === null ? (
        'The ledger has not been checked yet.'
      ) : (
        <span>
          <Found violations={violations} />{' '}
          <span className="whitespace-nowrap">
            Last run <Timestamp value={checkedAt} />
          </span>
        </span>
      )}
    </p>
  )
}
