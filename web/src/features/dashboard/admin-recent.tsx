import { EmptyState } from '@/components/empty-state'
import { MovementAmount } from '@/components/movement-amount'
import { StatusBadge } from '@/components/status-badge'
import { Timestamp } from '@/components/timestamp'
import type { RecentMovement } from '@/lib/admin-overview'
import { subtract } from '@/lib/money'
import { shownStatus } from '@/lib/movement'

/** The newest deposits and withdrawals, whatever their state. */
export function RecentTransactions({ recent }: { recent: RecentMovement[] }) {
  if (recent.length === 0) return <EmptyState drawing="mooring" title="No recent transactions" />
  return (
    <ul aria-label="Recent Transactions" className="divide-y rounded-card border bg-card">
      {recent.map((item) => (
        <li key={item.id} className="flex flex-wrap items-center gap-x-6 gap-y-1 px-4 py-3 md:px-5">
          <span className="w-28 font-semibold">{item.type === 'deposit' ? 'Deposit' : 'Withdrawal'}</span>
          <span className="no-kerning min-w-0 grow">{item.user_email ?? item.username ?? 'Unknown'}</span>
          <span className="text-muted-foreground">
            <Timestamp value={item.created_at} />
          </span>
          <StatusBadge status={shownStatus(item)} />
          <MovementAmount
            item={{
              status: item.status,
              amount: item.type === 'deposit' ? item.amount : subtract('0', item.amount),
            }}
            className="w-28 text-right font-semibold"
          />
        </li>
      ))}
    </ul>
  )
}
