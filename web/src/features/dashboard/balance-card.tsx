import { ArrowDownToLine, ArrowUpFromLine } from 'lucide-react'
import { Link } from 'react-router'
import { About } from '@/components/about'
import { BalanceGauge } from '@/components/balance-gauge'
import { Money } from '@/components/money'
import { Timestamp } from '@/components/timestamp'
import { Button } from '@/components/ui/button'
import type { Member } from '@/lib/member'
import { compare, formatMoney, type Decimal } from '@/lib/money'
import { paths } from '@/lib/paths'
import { explainBalance } from './explanations'

export function BalanceCard({ member, minimum }: { member: Member; minimum: Decimal }) {
  const { balance } = member
  // The one filled button is a step that is really open; what an account still lacks has its own card.
  const canWithdraw =
    member.verification.canWithdraw &&
    compare(balance.requestable, minimum) >= 0 &&
    member.pending.every(({ source }) => source !== 'deposit')
  return (
    <section aria-labelledby="balance" className="card-box grid gap-x-6 md:grid-cols-[1fr_auto]">
      <div className="min-w-0">
        <div className="flex items-center gap-1.5 text-muted-foreground">
          <h2 id="balance" className="font-sans text-body font-normal tracking-normal">
            Withdrawable balance
          </h2>
          <About label="withdrawable balance" {...explainBalance(member)} />
        </div>
        <p>
          <Money value={balance.available} size="hero" />
        </p>
        <p className="mt-2 font-semibold">
          You can request <Money value={balance.requestable} /> now
        </p>
        {compare(balance.reserved, '0') > 0 ? (
          <p className="flex items-center gap-2 text-muted-foreground">
            <span className="hatch h-2.5 w-4" aria-hidden />
            <span>
              <Money value={balance.reserved} /> reserved for a pending request
            </span>
          </p>
        ) : null}
        {balance.hold_until ? (
          <p className="text-compact text-warning">
            You can request a withdrawal now; it cannot be approved until{' '}
            <Timestamp value={balance.hold_until} exact />, because of a recent security change.
          </p>
        ) : null}
      </div>
      <div className="order-last mt-4 grid grid-cols-2 gap-3 md:order-none md:mt-0 md:flex md:items-start">
        <Button asChild variant="outline">
          <Link to={paths.deposit}>
            <ArrowDownToLine aria-hidden />
            Deposit
          </Link>
        </Button>
        <Button asChild variant={canWithdraw ? 'default' : 'outline'}>
          <Link to={paths.withdraw}>
            <ArrowUpFromLine aria-hidden />
            Withdraw
          </Link>
        </Button>
      </div>
      <div className="mt-4 md:col-span-2">
        <BalanceGauge
          balance={balance}
          minimum={minimum}
          valueText={`${formatMoney(balance.requestable)} of ${formatMoney(balance.available)} can be requested now`}
        />
      </div>
    </section>
  )
}
