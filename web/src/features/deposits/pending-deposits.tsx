import { useState } from 'react'
import { Money } from '@/components/money'
import { Reference } from '@/components/reference'
import { ReviewDialog } from '@/components/review-dialog'
import { StatusBadge } from '@/components/status-badge'
import { Timestamp } from '@/components/timestamp'
import { Button } from '@/components/ui/button'
import { useCancelRequest } from '@/lib/member'
import { formatMoney } from '@/lib/money'
import { toasts } from '@/lib/toast-queue'
import type { PendingDeposit } from './api'

/** Requests nobody has decided yet, each with a way back. */
export function PendingDeposits({ pending }: { pending: PendingDeposit[] }) {
  const [leaving, setLeaving] = useState<PendingDeposit | null>(null)
  const cancel = useCancelRequest()
  if (pending.length === 0) return null
  return (
    <section aria-labelledby="pending-deposits">
      <h2 id="pending-deposits" className="text-section">
        Waiting for review
      </h2>
      <ul className="mt-2 divide-y border-y">
        {pending.map((deposit) => (
          <li key={deposit.id} className="flex flex-wrap items-center gap-x-4 gap-y-1 py-2.5">
            <span className="min-w-0 grow">
              <span className="flex flex-wrap items-center gap-x-3 gap-y-1">
                <Money value={deposit.amount} className="font-semibold" />
                <StatusBadge status="pending" />
              </span>
              <span className="flex flex-wrap gap-x-3 text-compact text-muted-foreground">
                <Timestamp value={deposit.created_at} />
                <Reference value={deposit.reference_number} short />
              </span>
            </span>
            <Button
              variant="outline"
              size="compact"
              aria-label={`Cancel deposit of ${formatMoney(deposit.amount)}`}
              onClick={() => setLeaving(deposit)}
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
          title={`Cancel deposit of ${formatMoney(leaving.amount)}?`}
          facts={[
            { label: 'Amount', value: <Money value={leaving.amount} /> },
            {
              label: 'Reference',
              value: <span className="font-mono break-all">{leaving.reference_number}</span>,
            },
          ]}
          warning="Nobody reviews it then. USDT you have already sent is not sent back by this."
          confirmLabel="Cancel deposit"
          busyLabel="Cancelling..."
          dismissLabel="Keep it"
          destructive
          errorFallback="The deposit could not be cancelled. Please try again."
          onConfirm={async () => {
            await cancel.mutateAsync(leaving.id)
            toasts.success('Deposit cancelled', { money: true })
            setLeaving(null)
          }}
        />
      ) : null}
    </section>
  )
}
