import { ArrowRight, CircleAlert, Clock } from 'lucide-react'
import { Link } from 'react-router'
import { Money } from '@/components/money'
import { Badge } from '@/components/status-badge'
import { Button } from '@/components/ui/button'
import type { AdminOverview, OldestPending } from '@/lib/admin-overview'
import { formatDue } from '@/lib/dates'
import { paths } from '@/lib/paths'
import { useNow } from '@/lib/use-now'

function Oldest({ noun, oldest, to }: { noun: string; oldest: OldestPending | null; to: string }) {
  const now = useNow()
  const due = oldest ? formatDue(new Date(oldest.due_at), now) : null
  return (
    <div className="flex min-w-0 flex-wrap items-center justify-between gap-3 px-4 py-3 md:px-5">
      <div className="min-w-0">
        <p className="text-muted-foreground">Oldest pending {noun}</p>
        {oldest && due ? (
          <p className="flex flex-wrap items-center gap-x-3 gap-y-1">
            <Money value={oldest.amount} className="font-semibold" />
            <span>{oldest.username}</span>
            <Badge tone={due.overdue ? 'negative' : 'warning'} icon={due.overdue ? CircleAlert : Clock}>
              {due.text}
            </Badge>
          </p>
        ) : (
          <p>Nothing pending.</p>
        )}
      </div>
      {oldest ? (
        <Button asChild variant="outline" size="compact">
          <Link to={to} aria-label={`Review pending ${noun}s`}>
            Review
            <ArrowRight aria-hidden />
          </Link>
        </Button>
      ) : null}
    </div>
  )
}

/** What has waited longest, and until when it should be decided. */
export function OldestRequests({ oldest }: { oldest: AdminOverview['oldest_pending'] }) {
  return (
    <div className="grid divide-y rounded-card border bg-card lg:grid-cols-2 lg:divide-x lg:divide-y-0">
      <Oldest noun="withdrawal" oldest={oldest.withdrawal} to={paths.admin.withdrawals} />
      <Oldest noun="deposit" oldest={oldest.deposit} to={paths.admin.deposits} />
    </div>
  )
}
