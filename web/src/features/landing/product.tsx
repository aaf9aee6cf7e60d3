import { TrendingDown, TriangleAlert } from 'lucide-react'
import type { ReactNode } from 'react'
import { BalanceGauge } from '@/components/balance-gauge'
import { Money, Percent } from '@/components/money'
import { Badge } from '@/components/status-badge'
import { cn } from '@/lib/cn'
import { formatMoney } from '@/lib/money'
import { builtInPlatform, usePlatform } from '@/lib/platform'
import { sample } from './sample'

type Pair = (typeof sample.pairs)[number]

function Small({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div className="sm:text-right">
      <dt className="text-caption text-muted-foreground">{label}</dt>
      <dd className="text-compact font-semibold">{children}</dd>
    </div>
  )
}

function BalanceSample() {
  const { balance, packageValue, earned, roi } = sample
  const { limits } = usePlatform().data ?? builtInPlatform
  return (
    <div className="card-box">
      <dl className="grid items-end gap-x-4 gap-y-2 max-sm:grid-cols-3 sm:grid-cols-[1fr_auto_auto_auto]">
        <div className="max-sm:col-span-3">
          <dt className="text-compact text-muted-foreground">Withdrawable balance</dt>
          <dd>
            <Money value={balance.available} size="figure" />
          </dd>
        </div>
        <Small label="Paid for package">
          <Money value={packageValue} />
        </Small>
        <Small label="Earned">
          <Money value={earned} />
        </Small>
        <Small label="ROI">
          <span className="inline-flex items-baseline gap-1 text-destructive">
            <TrendingDown className="size-4 self-center stroke-[1.75]" aria-hidden />
            <Percent value={roi} />
          </span>
        </Small>
      </dl>
      <p className="mt-1 text-caption text-muted-foreground">
        <strong className="font-semibold text-foreground">
          You can request {formatMoney(balance.requestable)} now.
        </strong>{' '}
        {formatMoney(balance.reserved)} reserved for a pending request.
      </p>
      <BalanceGauge
        balance={balance}
        minimum={limits.min_withdrawal}
        valueText={`${formatMoney(balance.requestable)} of ${formatMoney(balance.available)}`}
      />
    </div>
  )
}

function Child({ child, className }: { child: Pair['left' | 'right']; className?: string }) {
  if (!child) return <span className={cn('text-muted-foreground', className)}>Nobody yet</span>
  return (
    <span className={className}>
      <strong className="font-semibold">{child.name}</strong>{' '}
      <span className="text-muted-foreground">
        <Money value={child.value} />
      </span>
    </span>
  )
}

function State({ pair }: { pair: Pair }) {
  if (pair.state === 'paying') return <Badge tone="positive">Paying</Badge>
  if (pair.state === 'blocked') return <Badge tone="warning">Waiting for {pair.right.name}</Badge>
  return <Badge>Waiting for a second</Badge>
}

const columns =
  'sm:grid sm:grid-cols-[1rem_minmax(0,7rem)_minmax(0,1fr)_4.5rem_10.25rem] sm:items-center sm:gap-x-2'

function PairsSample() {
  return (
    <div className="card-box">
      <div className="flex flex-wrap items-baseline justify-between gap-x-4">
        <p className="font-semibold">Pairing Details</p>
        <p className="text-caption text-muted-foreground">
          {sample.packageLabel}, rate <Percent value={sample.rate} />
        </p>
      </div>
      <p
        aria-hidden
        className={cn('mt-1 border-b pb-1 text-caption text-muted-foreground max-sm:hidden', columns)}
      >
        <span />
        <span>Left child</span>
        <span>Right child</span>
        <span className="text-right whitespace-nowrap">Your bonus</span>
        <span className="text-right">State</span>
      </p>
      <ol className="text-compact">
        {sample.pairs.map((pair, index) => (
          <li
            key={pair.left.name}
            className={cn(
              'flex flex-wrap items-center justify-between gap-x-3 gap-y-1 border-b py-1.5 last:border-b-0 last:pb-0',
              columns,
            )}
          >
            <span className="font-semibold" aria-label={`Pair ${index + 1}`}>
              {index + 1}
            </span>
            <Child child={pair.left} className="max-sm:grow" />
            <Child child={pair.right} />
            <Money value={pair.bonus} className="font-semibold max-sm:basis-full sm:text-right" />
            <span className="max-sm:-mt-7 max-sm:ml-auto sm:text-right">
              <State pair={pair} />
            </span>
          </li>
        ))}
      </ol>
    </div>
  )
}

/** What a member sees, with the sample network's figures: a loss among them. */
export function Product() {
  return (
    <section
      aria-label="The member’s dashboard, with sample data"
      className="overflow-hidden rounded-card border border-input bg-muted xl:rounded-b-none xl:border-b-0"
    >
      <div className="flex flex-wrap items-center justify-between gap-x-4 border-b bg-warning-soft px-4 py-2 text-caption">
        <p className="flex items-center gap-2 font-semibold text-warning">
          <TriangleAlert className="size-4 stroke-[1.75]" aria-hidden />
          Sample data, not a result to expect
        </p>
        <p className="text-muted-foreground">The member’s dashboard</p>
      </div>
      <div className="flex flex-col gap-3 p-3 md:p-4">
        <BalanceSample />
        <PairsSample />
      </div>
    </section>
  )
}
