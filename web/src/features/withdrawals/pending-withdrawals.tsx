import { useState } from 'react'
import { Address } from '@/components/address'
import { Money } from '@/components/money'
import { ReviewDialog } from '@/components/review-dialog'
import { StatusBadge } from '@/components/status-badge'
import { Timestamp } from '@/components/timestamp'
import { Button } from '@/components/ui/button'
import { useCancelRequest } from '@/lib/member'
import { formatMoney } from '@/lib/money'
import { toasts } from '@/lib/toast-queue'
import type { PendingWithdrawal } from './api'

/** Requests nobody has decided yet; their amounts are reserved until then. */
export function PendingWithdrawals({ pending }: { pending: PendingWithdrawal[] }) {
  const [leaving, setLeaving] = useState<PendingWithdrawal | null>(null)
  const cancel = useCancelRequest()
  if (pending.length === 0) return null
  return (
    <section aria-labelledby="pending-withdrawals">
      <h2 id="pending-withdrawals" className="text-section">
        Waiting for approval
      </h2>
      <ul className="mt-2 divide-y border-y">
        {pending.map((request) => (
          <li key={request.id} className="flex flex-wrap items-center gap-x-4 gap-y-1 py-2.5">
            <span className="min-w-0 grow">
              <span className="flex flex-wrap items-center gap-x-3 gap-y-1">
                <Money value={request.amount} className="font-semibold" />
                <StatusBadge status="pending" />
              </span>
              <span className="flex flex-wrap gap-x-3 text-compact text-muted-foreground">
                <Timestamp value={request.created_at} />
                <Address value={request.wallet_address} short />
              </span>
            </span>
            <Button
              variant="outline"
              size="compact"
              aria-label={`Cancel withdrawal of ${formatMoney(request.amount)}`}
              onClick={() => setLeaving(request)}
            >
              Cancel
            </Button>
          </li>
        ))}
      </ul>
      {leaving ? (
        <ReviewDialog
          open
          onClose={() => setLeaving(null)}
          title={`Cancel withdrawal of ${formatMoney(leaving.amount)}?`}
          facts={[
            { label: 'Amount', value: <Money value={leaving.amount} /> },
            { label: 'To', value: <Address value={leaving.wallet_address} /> },
          ]}
          warning="The amount is free again at once. Nothing is paid for this request."
          confirmLabel="Cancel withdrawal"
          busyLabel="Cancelling..."
          dismissLabel="Keep it"
          destructive
          errorFallback="The withdrawal could not be cancelled. Please try again."
          onConfirm={async () => {
            await cancel.mutateAsync(leaving.id)
            toasts.success('Withdrawal cancelled', { money: true })
            setLeaving(null)
          }}
        />
      ) : null}
    </section>
  )
}
