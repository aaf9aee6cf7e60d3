import { AccountName } from '@/components/account-name'
import type { FileFacts } from '@/components/file-drop'
import { Money } from '@/components/money'
import { Notice } from '@/components/notice'
import { Change, ReviewDialog } from '@/components/review-dialog'
import type { Account } from '@/lib/account'
import { formatMoney, type Decimal } from '@/lib/money'
import type { PendingDeposit } from './api'
import type { Outcome } from './deposit-summary'
import { formatBytes } from './receipt-file'

interface DepositReviewProps {
  account: Account
  amount: Decimal
  outcome: Outcome
  reference: string
  file: FileFacts | null
  /** What is in review already. */
  pending: PendingDeposit[]
  onClose: () => void
  onConfirm: () => Promise<void>
}

/** The last look: account, amount, what it changes, the reference and the file, as they will be sent. */
export function DepositReview(props: DepositReviewProps) {
  const { account, amount, outcome, reference, file, pending, onClose, onConfirm } = props
  const same = outcome.packageAfter === outcome.packageNow
  return (
    <ReviewDialog
      open
      onClose={onClose}
      onConfirm={onConfirm}
      flags={
        pending[0] ? (
          <Notice tone="warning" className="mb-4">
            A deposit of {formatMoney(pending[0].amount)} is already in review. Submit this one only for a
            second, separate transfer.
          </Notice>
        ) : null
      }
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
      lateText="No response yet. Trying again never makes a second deposit."
      unansweredText="It may have been sent. Trying again never makes a second deposit."
      errorFallback="Failed to submit deposit request. Please try again."
    />
  )
}
