import { useState } from 'react'
import { Money } from '@/components/money'
import { MoneyInReview } from '@/components/money-in-review'
import { Reference } from '@/components/reference'
import { ReviewDialog } from '@/components/review-dialog'
import { useCancelRequest } from '@/lib/member'
import { formatMoney, formatPercent } from '@/lib/money'
import type { Package } from '@/lib/platform'
import { toasts } from '@/lib/toast-queue'
import { readAmount } from './amount'
import type { DepositOptions, PendingDeposit } from './api'
import { outcomeOf } from './deposit-summary'
import { ReceiptLink } from './receipt-link'
import { RestForm } from './rest-form'

interface PendingDepositsProps {
  options: DepositOptions
  packages: Package[]
  /** The one that was sent a moment ago. */
  arrived: string | null
}

const texts = {
  sent: 'You sent the proof. We have the receipt and the reference.',
  review: 'A person compares your transfer, receipt and package.',
  usual: 'Review usually within 24 hours. It can take longer; you are notified either way.',
}

const consequence = 'It will not be reviewed. Cancelling does not return USDT you have already sent.'

/** "Deposit, VIP Package", or what else the amount stands for. */
function titleOf({ amount }: PendingDeposit, options: DepositOptions, packages: Package[]): string {
  const meaning = readAmount(amount, packages, options)
  return 'package' in meaning ? `Deposit, ${meaning.package.label}` : 'Deposit'
}

function ifApproved({ amount }: PendingDeposit, options: DepositOptions, packages: Package[]) {
  const { packageAfter, rateAfter, cashInAfter } = outcomeOf(amount, options, packages)
  if (packageAfter === null) return <Money value={null} />
  return (
    <>
      {packageAfter}
      {rateAfter === null ? '' : `, pairing rate ${formatPercent(rateAfter)}`}, cash-in{' '}
      <Money value={cashInAfter} />
    </>
  )
}

function restName({ id, rest }: PendingDeposit): string {
  return `${id}:${rest?.no ?? 0}`
}

/** Each request that nobody has decided yet, with a way back. */
export function PendingDeposits({ options, packages, arrived }: PendingDepositsProps) {
  const [leaving, setLeaving] = useState<PendingDeposit | null>(null)
  const [replied, setReplied] = useState<string | null>(null)
  const cancel = useCancelRequest()
  if (options.pending.length === 0) return null
  return (
    <section aria-label="Waiting for review" className="flex flex-col gap-4">
      {options.pending.map((deposit) => (
        <MoneyInReview
          key={deposit.id}
          kind="deposit"
          title={titleOf(deposit, options, packages)}
          amount={deposit.amount}
          sentAt={deposit.created_at}
          caution={deposit.rest ? 'The reference of the rest was received.' : 'Do not send it again.'}
          rest={deposit.rest}
          restForm={
            deposit.rest ? (
              <RestForm
                // Asked for once more, it is another transfer.
                key={deposit.rest.no}
                deposit={deposit}
                rest={deposit.rest}
                options={options}
                onAdded={() => setReplied(restName(deposit))}
              />
            ) : null
          }
          texts={texts}
          facts={[
            {
              label: 'Reference',
              value: <Reference value={deposit.reference_number} short copy />,
            },
            ...(deposit.rest?.reference_number
              ? [
                  {
                    label: 'Reference of the rest',
                    value: <Reference value={deposit.rest.reference_number} short copy />,
                  },
                ]
              : []),
            { label: 'Receipt', value: <ReceiptLink receiptUrl={deposit.receipt_url} /> },
            { label: 'If approved', value: ifApproved(deposit, options, packages) },
          ]}
          consequence={consequence}
          onCancel={() => setLeaving(deposit)}
          arrived={deposit.id === arrived || (deposit.rest !== null && restName(deposit) === replied)}
        />
      ))}
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
          warning={consequence}
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
