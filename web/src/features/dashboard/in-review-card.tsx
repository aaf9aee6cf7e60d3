import { ChevronRight, CircleAlert, Hourglass } from 'lucide-react'
import { Link } from 'react-router'
import { Gauge } from '@/components/gauge'
import { Badge } from '@/components/status-badge'
import { Timestamp } from '@/components/timestamp'
import { formatRelative } from '@/lib/dates'
import { restText, restToSend } from '@/lib/deposit-rest'
import type { PendingRequest } from '@/lib/member'
import { formatMoney } from '@/lib/money'
import { paths } from '@/lib/paths'
import { usuallyDecidedBy } from '@/lib/review-time'
import { useNow } from '@/lib/use-now'

const kinds = {
  deposit: { label: 'Deposit', to: paths.deposit },
  withdrawal: { label: 'Withdrawal', to: paths.withdraw },
}

/** Where a request stands between being sent and the time by which it is usually decided. */
export function ReviewProgress({ request, className }: { request: PendingRequest; className?: string }) {
  const now = useNow()
  // The time of the review begins anew with the rest.
  const from = request.rest?.referenced_at ?? request.created_at
  const sent = new Date(from)
  const usual = usuallyDecidedBy(request.source, from)
  const isLate = now > usual
  return (
    <div className={className}>
      <Gauge
        kind="progressbar"
        label={`Review of the ${request.source}`}
        valueText={`Sent ${formatRelative(sent, now)}${isLate ? ', longer than usual' : ''}`}
        value={Math.max(0, now.getTime() - sent.getTime())}
        max={usual.getTime() - sent.getTime()}
        ticks={8}
      />
      <div className="-mt-1 flex flex-wrap justify-between gap-x-4 text-compact text-muted-foreground">
        <span>
          {request.rest ? 'Rest sent' : 'Sent'} <Timestamp value={from} />
        </span>
        <span>
          {isLate ? 'longer than usual, since ' : 'usually by '}
          <Timestamp value={usual.toISOString()} exact />
        </span>
      </div>
    </div>
  )
}

/** A request in review, and the way to it. */
function InReviewCard({ request }: { request: PendingRequest }) {
  const { label, to } = kinds[request.source]
  const name = `${label} of ${formatMoney(request.amount)}`
  const missing = restToSend(request)
  return (
    <article
      aria-label={`${name}, ${missing ? 'rest missing' : 'in review'}`}
      className="card-box flex min-w-0 flex-col"
    >
      <div className="flex flex-wrap items-center justify-between gap-x-4 gap-y-1">
        <h2 className="tabular text-section">{name}</h2>
        <Badge tone="warning" icon={missing ? CircleAlert : Hourglass}>
          {missing ? 'Rest missing' : 'In review'}
        </Badge>
      </div>
      {missing ? (
        <p className="mt-2 text-muted-foreground">{restText(missing)}.</p>
      ) : (
        <ReviewProgress request={request} className="mt-2" />
      )}
      <div className="mt-auto -mb-2.5 flex items-center justify-between gap-4 pt-1">
        <span>{missing ? 'Send the rest, then add its reference.' : 'Nothing to do now.'}</span>
        <Link
          to={to}
          aria-label={`Open ${name}`}
          className="inline-flex min-h-11 shrink-0 items-center gap-1 rounded-mark font-semibold text-primary hover:underline"
        >
          Open
          <ChevronRight className="size-4" aria-hidden />
        </Link>
      </div>
    </article>
  )
}

/** All that nobody has decided yet. */
export function InReview({ pending }: { pending: PendingRequest[] }) {
  if (pending.length === 0) return null
  return (
    <section
      aria-label="In review"
      className={pending.length > 1 ? 'grid gap-3 md:gap-4 lg:grid-cols-2' : undefined}
    >
      {pending.map((request) => (
        <InReviewCard key={request.id} request={request} />
      ))}
    </section>
  )
}
