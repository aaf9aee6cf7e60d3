import { BalanceGauge } from '@/components/balance-gauge'
import { Money } from '@/components/money'
import { Timestamp } from '@/components/timestamp'
import { compare, formatMoney } from '@/lib/money'
import type { WithdrawOptions } from './api'

/** First on the page: what can be requested now, and why it is not more. */
export function BalanceSection({ options }: { options: WithdrawOptions }) {
  const { balance, minimum, hold_until: hold } = options
  const reserved = compare(balance.reserved, '0') > 0
  return (
    <section aria-label="Balance" className="card-box">
      <p className="text-muted-foreground">You can request now</p>
      <p>
        <Money value={balance.requestable} size="hero" />
      </p>
      {reserved ? (
        <p className="mt-1 flex items-center gap-2 text-muted-foreground">
          <span className="hatch h-2.5 w-4" aria-hidden />
          <span>
            <Money value={balance.reserved} /> of <Money value={balance.available} /> is reserved for a
            pending request
          </span>
        </p>
      ) : null}
      <div className="mt-4">
        <BalanceGauge
          balance={balance}
          minimum={minimum}
          valueText={`${formatMoney(balance.requestable)} of ${formatMoney(balance.available)} can be requested now`}
        />
      </div>
      {compare(balance.requestable, minimum) < 0 ? (
        <p className="mt-3 text-compact text-muted-foreground">
          A withdrawal is at least <Money value={minimum} />. Your bonuses stay in your balance.
        </p>
      ) : null}
      {hold ? (
        <p className="mt-3 text-compact text-warning">
          You can request a withdrawal now; it cannot be approved until <Timestamp value={hold} exact />,
          because of a recent security change.
        </p>
      ) : null}
    </section>
  )
}
