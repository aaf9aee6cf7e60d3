import { useState } from 'react'
import { Address } from '@/components/address'
import { Money } from '@/components/money'
import { MoneyInReview } from '@/components/money-in-review'
import { ReviewDialog } from '@/components/review-dialog'
import { Timestamp } from '@/components/timestamp'
import { useCancelRequest } from '@/lib/member'
import { formatMoney } from '@/lib/money'
import { toasts } from '@/lib/toast-queue'
import type { PendingWithdrawal, WithdrawOptions } from './api'

interface PendingWithdrawalsProps {
  options: WithdrawOptions
  /** The one that was sent a moment ago. */
  arrived: string | null
}

const consequence = 'The amount becomes available again immediately. Nothing will be paid out.'

function textsOf({ amount }: PendingWithdrawal, hold: string | null) {
  return {
    sent: (
      <>
        You requested it. <Money value={amount} /> of your balance is reserved.
      </>
    ),
    review: hold ? (
      <>
        It cannot be approved until <Timestamp value={hold} exact />, because of a recent security change.
      </>
    ) : (
      'An administrator compares it with your balance.'
    ),
    usual: 'Processing takes 24-48 hours. It can take longer; you are notified either way.',
  }
}

/** Each request that nobody has decided yet, with a way back; its amount is reserved until then. */
export function PendingWithdrawals({ options, arrived }: PendingWithdrawalsProps) {
  const [leaving, setLeaving] = useState<PendingWithdrawal | null>(null)
  const cancel = useCancelRequest()
  if (options.pending.length === 0) return null
  return (
    <section aria-label="Waiting for approval" className="flex flex-col gap-4">
      {options.pending.map((request) => (
        <MoneyInReview
          key={request.id}
          kind="withdrawal"
          title="Withdrawal"
          amount={request.amount}
          sentAt={request.created_at}
          caution="Do not request it again."
          texts={textsOf(request, options.hold_until)}
          facts={[{ label: 'To', value: <Address value={request.wallet_address} short copy /> }]}
          consequence={consequence}
          onCancel={() => setLeaving(request)}
          arrived={request.id === arrived}
        />
      ))}
      {leaving ? (
        <ReviewDialog
          open
          onClose={() => setLeaving(null)}
          title={`Cancel withdrawal of ${formatMoney(leaving.amount)}?`}
          facts={[
            { label: 'Amount', value: <Money value={leaving.amount} /> },
            { label: 'To', value: <Address value={leaving.wallet_address} /> },
          ]}
          warning={consequence}
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
