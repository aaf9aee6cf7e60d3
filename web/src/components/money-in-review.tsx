import { CircleAlert, Hourglass } from 'lucide-react'
import { useEffect, useId, useRef, useState, type ReactNode } from 'react'
import { cn } from '@/lib/cn'
import { formatLasting } from '@/lib/dates'
import { restText, restToSend, type DepositRest } from '@/lib/deposit-rest'
import { formatMoney, toCents, type Decimal } from '@/lib/money'
import { usuallyDecidedBy } from '@/lib/review-time'
import { useNow } from '@/lib/use-now'
import { Gauge } from './gauge'
import { Money } from './money'
import type { Fact } from './review-dialog'
import { ReviewTimeline, type ReviewStop } from './review-timeline'
import { Badge } from './status-badge'
import { Timestamp } from './timestamp'
import { Button } from './ui/button'

/** What the stops say under their names. */
interface StopTexts {
  sent: ReactNode
  review: ReactNode
  /** Until the usual time has passed; then one sentence serves all. */
  usual: ReactNode
}

const late = 'This takes longer than usual. It is still in review, and nothing needs to be sent again.'
const decided = 'You get a notification and an email, with the reason if it is not approved.'

/** While its rest is missing, a deposit is not reviewed. */
function stopsOfRest(sentAt: string, rest: DepositRest, texts: StopTexts): ReviewStop[] {
  return [
    { name: 'Sent', state: 'done', at: <Timestamp value={sentAt} exact />, text: texts.sent },
    {
      name: 'Rest asked for',
      state: 'now',
      at: <Timestamp value={rest.asked_at} exact />,
      text: `${restText(rest)}.`,
    },
    {
      name: 'In review',
      state: 'next',
      at: <Money value={null} />,
      text: 'It goes on with the reference of the rest, usually within 24 hours.',
    },
    { name: 'Decided', state: 'next', at: <Money value={null} />, text: decided },
  ]
}

function stopsOf(props: MoneyInReviewProps, now: Date): ReviewStop[] {
  const { kind, sentAt, texts, rest } = props
  if (rest && !rest.referenced_at) return stopsOfRest(sentAt, rest, texts)
  // The time of the review begins anew with the rest.
  const from = rest?.referenced_at ?? sentAt
  const usual = usuallyDecidedBy(kind, from)
  const isLate = now > usual
  return [
    { name: 'Sent', state: 'done', at: <Timestamp value={sentAt} exact />, text: texts.sent },
    ...(rest
      ? [
          {
            name: 'Rest sent',
            state: 'done' as const,
            at: <Timestamp value={from} exact />,
            text: `${restText(rest)}. We have the reference of the rest.`,
          },
        ]
      : []),
    { name: 'In review', state: 'now', at: formatLasting(new Date(from), now), text: texts.review },
    {
      name: 'Usually decided by',
      state: 'next',
      at: <Timestamp value={usual.toISOString()} exact />,
      text: isLate ? late : texts.usual,
    },
    { name: 'Decided', state: 'next', at: <Money value={null} />, text: decided },
  ]
}

interface MoneyInReviewProps {
  kind: 'deposit' | 'withdrawal'
  /** What it is, above the amount: "Deposit, VIP Package". */
  title: string
  amount: Decimal
  sentAt: string
  /** What must not be done twice. */
  caution: string
  /** What is missing of a deposit. */
  rest?: DepositRest | null
  /** How it is sent, while that is left to do. */
  restForm?: ReactNode
  texts: StopTexts
  facts: Fact[]
  /** What cancelling does, and what it does not. */
  consequence: string
  onCancel: () => void
  /** Sent a moment ago: the eye and the focus go to it. */
  arrived: boolean
}

/** What arrived of a deposit; what is missing is hatched. */
function RestGauge({ amount, rest }: { amount: Decimal; rest: DepositRest }) {
  const received = formatMoney(rest.received_amount)
  return (
    <div className="mt-3">
      <Gauge
        label="Arrived"
        valueText={`${received} of ${formatMoney(amount)}`}
        value={Number(toCents(rest.received_amount))}
        max={Number(toCents(amount))}
        reserved={Number(toCents(rest.missing))}
        ticks={10}
      />
      <div className="tabular -mt-1 flex flex-wrap justify-between gap-x-4 text-compact text-muted-foreground">
        <span>{received} arrived</span>
        <span>
          {formatMoney(rest.missing)} missing of {formatMoney(amount)}
        </span>
      </div>
    </div>
  )
}

/** A request that nobody has decided yet: what is to be done, mostly nothing, where it stands, and the way back. */
export function MoneyInReview(props: MoneyInReviewProps) {
  const { kind, title, amount, caution, rest = null, restForm, facts, consequence, onCancel, arrived } = props
  const missing = restToSend({ rest })
  const id = useId()
  const heading = useRef<HTMLHeadingElement>(null)
  // Only what came while the page was open moves; the class must not go while it does.
  const [isNew] = useState(arrived)
  const now = useNow()
  useEffect(() => {
    if (!arrived) return
    heading.current?.focus({ preventScroll: true })
    heading.current?.closest('article')?.scrollIntoView({ block: 'start' })
  }, [arrived])
  return (
    <div className={cn('grid', isNew && 'animate-arrive')}>
      <article aria-labelledby={id} className="card-box min-h-0 min-w-0 md:p-7">
        <div className="flex flex-wrap items-start justify-between gap-x-4">
          <h2 id={id} ref={heading} tabIndex={-1} data-quiet-focus className="min-w-0 grow basis-40">
            <span className="block font-sans text-body font-normal tracking-normal text-muted-foreground">
              {title}
            </span>{' '}
            <Money value={amount} size="hero" />
          </h2>
          <Badge tone="warning" icon={missing ? CircleAlert : Hourglass}>
            {missing ? 'Rest missing' : 'In review'}
          </Badge>
        </div>
        <p className="mt-1 text-lead">
          <span className="font-semibold">
            {missing ? `Send the missing ${formatMoney(missing.missing)}.` : 'Nothing to do now.'}
          </span>{' '}
          <span className="text-muted-foreground">
            {missing ? 'Then add the reference of that transfer.' : caution}
          </span>
        </p>
        {missing ? (
          <>
            <RestGauge amount={amount} rest={missing} />
            <div className="mt-5">{restForm}</div>
          </>
        ) : null}
        <div className="mt-6 border-t pt-6">
          <ReviewTimeline stops={stopsOf(props, now)} />
        </div>
        <dl className="mt-6 border-t">
          {facts.map((fact) => (
            <div
              key={fact.label}
              className="flex items-center justify-between gap-4 border-b py-2.5 text-compact"
            >
              <dt className="shrink-0 text-muted-foreground">{fact.label}</dt>
              <dd className="min-w-0 text-right font-semibold">{fact.value}</dd>
            </div>
          ))}
        </dl>
        <div className="mt-5 flex flex-wrap items-center gap-x-4 gap-y-2">
          <Button
            variant="outline"
            className="max-sm:w-full"
            aria-label={`Cancel ${kind} of ${formatMoney(amount)}`}
            aria-describedby={`${id}-cancelling`}
            onClick={onCancel}
          >
            Cancel {kind}
          </Button>
          <p id={`${id}-cancelling`} className="min-w-0 grow basis-60 text-compact text-muted-foreground">
            {consequence}
          </p>
        </div>
      </article>
    </div>
  )
}
