import { useState, type ReactNode } from 'react'
import { Address } from '@/components/address'
import { CopyButton } from '@/components/copy-button'
import { Money } from '@/components/money'
import { Notice } from '@/components/notice'
import { Facts, ReviewDialog, type Fact } from '@/components/review-dialog'
import { StatusBadge } from '@/components/status-badge'
import { Timestamp } from '@/components/timestamp'
import { Button } from '@/components/ui/button'
import { Sheet, SheetContent } from '@/components/ui/sheet'
import { useCancelRequest, type HistoryItem } from '@/lib/member'
import { formatMoney, formatPercent, type Decimal } from '@/lib/money'
import { movementTitle, pairNames } from '@/lib/movement'
import { toasts } from '@/lib/toast-queue'

/** "30.00% of $500.00, pair 2: anna, ben": where a bonus comes from. */
function provenance(item: HistoryItem): string | null {
  if (item.rate === null || item.volume === null) return null
  const base = `${formatPercent(item.rate)} of ${formatMoney(item.volume)}`
  if (item.pair_number === null) return item.counterparty ? `${base}, package of ${item.counterparty}` : base
  const names = item.pair_names ? `: ${pairNames(item.pair_names)}` : ''
  const owner =
    item.transaction_type === 'override bonus' && item.counterparty ? ` of ${item.counterparty}` : ''
  return `${base}, pair ${item.pair_number}${owner}${names}`
}

function factsOf(item: HistoryItem): Fact[] {
  const facts: Fact[] = [
    { label: 'Amount', value: <Money value={item.amount} signed className="font-semibold" /> },
    { label: 'Status', value: <StatusBadge status={item.status} /> },
    {
      label: item.source === 'bonus' ? 'Credited' : 'Requested',
      value: <Timestamp value={item.created_at} exact />,
    },
  ]
  const add = (label: string, value: ReactNode) => facts.push({ label, value })
  if (item.decided_at) add('Decided', <Timestamp value={item.decided_at} exact />)
  const from = provenance(item)
  if (from) add('From', from)
  if (item.reentry !== null) add('Re-entry', <Reentry value={item.reentry} />)
  if (item.reference) add('Reference', <LongText text={item.reference} what="reference" />)
  if (item.wallet_address) add('Paid to', <Address value={item.wallet_address} copy />)
  if (item.payout_reference)
    add('Payout reference', <LongText text={item.payout_reference} what="payout reference" />)
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

function LongText({ text, what }: { text: string; what: string }) {
  return (
    <span className="flex items-start justify-between gap-2">
      <span className="font-mono break-all">{text}</span>
      <CopyButton text={text} what={what} variant="ghost" size="icon-compact" className="-my-1.5" />
    </span>
  )
}

/** A refused request explains itself, and what to do next. */
function refusal(item: HistoryItem): string | null {
  if (item.status !== 'rejected' || !item.admin_notes) return null
  const what = item.source === 'deposit' ? 'deposit' : 'withdrawal'
  const amount = formatMoney(item.amount.replace('-', ''))
  if (item.admin_notes === 'Cancelled by the member') return `You cancelled this ${what} of ${amount}.`
  const next =
    what === 'deposit'
      ? 'Nothing was added. Send a new request with the right reference, or contact support.'
      : 'Nothing was paid and nothing was deducted. You can ask again, or contact support.'
  const reason = item.admin_notes.replace(/[.\s]+$/, '')
  return `Your ${what} of ${amount} was not approved. Reason: ${reason}. ${next}`
}

interface HistoryDetailsProps {
  item: HistoryItem
  onClose: () => void
}

export function HistoryDetails({ item, onClose }: HistoryDetailsProps) {
  const [cancelling, setCancelling] = useState(false)
  const cancel = useCancelRequest()
  const what = item.source === 'deposit' ? 'deposit' : 'withdrawal'
  const amount = formatMoney(item.amount.replace('-', ''))
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
          <Notice tone="info">{item.admin_notes}</Notice>
        ) : null}
        <Facts facts={factsOf(item)} />
        <ReviewDialog
          open={cancelling}
          onClose={() => setCancelling(false)}
          title={`Cancel ${what} of ${amount}?`}
          facts={[{ label: 'Amount', value: amount }]}
          warning={
            what === 'deposit'
              ? 'Nobody reviews it then. USDT you have already sent is not sent back by this.'
              : 'The amount is free again at once. Nothing is paid for this request.'
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
