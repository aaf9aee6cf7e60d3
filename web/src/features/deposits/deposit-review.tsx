import { AccountName } from '@/components/account-name'
import { Money } from '@/components/money'
import { Change, ReviewDialog } from '@/components/review-dialog'
import type { Account } from '@/lib/account'
import { formatMoney, type Decimal } from '@/lib/money'
import type { Outcome } from './deposit-summary'
import { formatBytes } from './receipt-file'

interface DepositReviewProps {
  account: Account
  amount: Decimal
  outcome: Outcome
  reference: string
  file: File | null
  onClose: () => void
  onConfirm: () => Promise<void>
}

/** The last look: account, amount, what it changes, the reference and the file, as they will be sent. */
export function DepositReview(props: DepositReviewProps) {
  const { account, amount, outcome, reference, file, onClose, onConfirm } = props
  const same = outcome.packageAfter === outcome.packageNow
  return (
    <ReviewDialog
      open
      onClose={onClose}
      onConfirm={onConfirm}
      title={`Submit deposit of ${formatMoney(amount)}?`}
      facts={[
        { label: 'Account', value: <AccountName {...account} /> },
        { label: 'Amount', value: <Money value={amount} className="font-semibold" /> },
        {
          label: 'Package',
          value: same ? (
            `${outcome.packageNow}, unchanged`
          ) : (
            <Change from={outcome.packageNow} to={outcome.packageAfter} />
          ),
        },
        { label: 'Reference', value: <span className="font-mono break-all">{reference}</span> },
        {
          label: 'Receipt',
          value: file ? <span className="break-all">{`${file.name}, ${formatBytes(file.size)}`}</span> : '',
        },
      ]}
      warning="An administrator compares this with the transfer, usually within 24 hours. Until then you can cancel it."
      confirmLabel={`Submit ${formatMoney(amount)}`}
      busyLabel="Submitting..."
      lateText="No answer yet. Trying again never makes a second deposit."
      errorFallback="Failed to submit deposit request. Please try again."
    />
  )
}
