import { useState, type ReactNode } from 'react'
import { Link } from 'react-router'
import { Address } from '@/components/address'
import { Money } from '@/components/money'
import { MovementAmount } from '@/components/movement-amount'
import { Notice } from '@/components/notice'
import { Reference } from '@/components/reference'
import { Facts, ReviewDialog, type Fact } from '@/components/review-dialog'
import { StatusBadge } from '@/components/status-badge'
import { Timestamp } from '@/components/timestamp'
import { Button } from '@/components/ui/button'
import { Sheet, SheetContent } from '@/components/ui/sheet'
import { restText, restToSend } from '@/lib/deposit-rest'
import { useCancelRequest, type HistoryItem } from '@/lib/member'
import { formatMoney, isNegative, unsigned, type Decimal } from '@/lib/money'
import { movedNothing, movementTitle, shownStatus } from '@/lib/movement'
import { paths } from '@/lib/paths'
import { toasts } from '@/lib/toast-queue'
import { correctionNote, otherAmountThatArrived, provenance, refusal } from './history-words'

function dateLabel(item: HistoryItem): string {
  if (item.bonus_amount === null) return item.source === 'transaction' ? 'Corrected' : 'Requested'
  return isNegative(item.amount) ? 'Taken back' : 'Credited'
}

function factsOf(item: HistoryItem & { balance_after?: Decimal }): Fact[] {
  const facts: Fact[] = [
    { label: 'Amount', value: <MovementAmount item={item} className="font-semibold" /> },
    { label: 'Status', value: <StatusBadge status={shownStatus(item)} /> },
    {
      label: dateLabel(item),
      value: <Timestamp value={item.created_at} exact />,
    },
  ]
  const add = (label: string, value: ReactNode) => facts.push({ label, value })
  if (item.decided_at)
    add(item.cancelled ? 'Cancelled' : 'Decided', <Timestamp value={item.decided_at} exact />)
  const from = item.transaction_type === 'correction' ? correctionNote(item) : provenance(item)
  if (from) add(item.transaction_type === 'correction' ? 'What happened' : 'From', from)
  if (item.reentry !== null) add('Re-entry', <Reentry value={item.reentry} />)
  const arrived = item.rest?.received_amount ?? otherAmountThatArrived(item)
  if (arrived) add('Arrived', <Money value={arrived} />)
  if (item.reference) add('Reference', <Reference value={item.reference} copy />)
  for (const reference of item.further_references ?? [])
    add('Reference of the rest', <Reference value={reference} copy />)
  const isPaid = item.source === 'withdrawal' && item.status !== 'pending' && !movedNothing(item)
  if (item.wallet_address) add(isPaid ? 'Paid to' : 'To', <Address value={item.wallet_address} copy />)
  if (item.payout_reference)
    add('Payout reference', <Reference value={item.payout_reference} what="payout reference" copy />)
  if (item.balance_after !== undefined) add('Balance after', <Money value={item.balance_after} />)
  return facts
}

function Reentry({ value }: { value: Decimal }) {
  return (
    <>
      <Money value={value} />
      <span className="block text-compact text-muted-foreground">
        Recorded only. It is not deducted from your balance and is not cash-in.
      </span>
    </>
  )
}

/** What is left to do for a deposit of which a part is missing. */
function RestNotice({ item }: { item: HistoryItem }) {
  const missing = restToSend(item)
  if (!missing) return null
  return (
    <Notice tone="warning" className="mb-4">
      {restText(missing)}.{' '}
      <Link to={paths.deposit} className="text-link">
        Send the rest
      </Link>
    </Notice>
  )
}

interface HistoryDetailsProps {
  /** Without a balance when it comes from the dashboard's latest. */
  item: HistoryItem & { balance_after?: Decimal }
  onClose: () => void
}

export function HistoryDetails({ item, onClose }: HistoryDetailsProps) {
  const [cancelling, setCancelling] = useState(false)
  const cancel = useCancelRequest()
  const what = item.source === 'deposit' ? 'deposit' : 'withdrawal'
  const amount = formatMoney(unsigned(item.amount))
  const reason = refusal(item)
  return (
    <Sheet open onOpenChange={(open) => !open && onClose()}>
      <SheetContent
        side="right"
        title={movementTitle(item)}
        footer={
          item.can_cancel ? (
            <Button variant="outline" onClick={() => setCancelling(true)}>
              Cancel {what}
            </Button>
          ) : null
        }
      >
        {reason ? (
          <Notice tone="info" className="mb-4">
            {reason}
          </Notice>
        ) : null}
        {item.status !== 'rejected' && item.admin_notes ? (
          <Notice tone="info" className="mb-4">
            {item.admin_notes}
          </Notice>
        ) : null}
        <RestNotice item={item} />
        <Facts facts={factsOf(item)} />
        <ReviewDialog
          open={cancelling}
          onClose={() => setCancelling(false)}
          title={`Cancel ${what} of ${amount}?`}
          facts={[{ label: 'Amount', value: amount }]}
          warning={
            what === 'deposit'
              ? 'It will not be reviewed. Cancelling does not return USDT you have already sent.'
              : 'The amount becomes available again immediately. Nothing will be paid out.'
          }
          confirmLabel={`Cancel ${what}`}
          busyLabel="Cancelling..."
          dismissLabel="Keep it"
          destructive
          errorFallback={`The ${what} could not be cancelled. Please try again.`}
          onConfirm={async () => {
            await cancel.mutateAsync(item.id)
            toasts.success(what === 'deposit' ? 'Deposit cancelled' : 'Withdrawal cancelled', { money: true })
            setCancelling(false)
            onClose()
          }}
        />
      </SheetContent>
    </Sheet>
  )
}
