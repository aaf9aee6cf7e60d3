import type { ReactNode } from 'react'
import { Address } from '@/components/address'
import { Money } from '@/components/money'
import { Facts, type Fact } from '@/components/review-dialog'
import { StatusBadge } from '@/components/status-badge'
import { Timestamp } from '@/components/timestamp'
import { Button } from '@/components/ui/button'
import { describeSpan } from '@/lib/dates'
import { Sheet, SheetContent } from '@/components/ui/sheet'
import { compare } from '@/lib/money'
import { shownStatus } from '@/lib/movement'
import type { RequestNoun } from '@/lib/request-changes'
import { offlineText, useOnline } from '@/lib/use-online'
import { RequestFlags } from './decision-dialog'
import { Due } from './due'
import type { DetailsPlace, MoneyRequest, RequestActs } from './request'
import { RestNote } from './row-note'

interface RequestDetailsProps<Row extends MoneyRequest> {
  noun: RequestNoun
  row: Row
  acts: RequestActs<Row>
  /** What only this kind of request has, between the amount and the status. */
  facts: Fact[]
  memberFacts?: Fact[]
  /** Why it cannot be approved. */
  blocked?: string | null
  buttons?: ReactNode
  place: DetailsPlace
}

/** Since when the member is one, and how young the account was when it asked. */
function Joined({ row }: { row: MoneyRequest }) {
  const age = describeSpan(new Date(row.created_at).getTime() - new Date(row.joined_at).getTime())
  return (
    <>
      <Timestamp value={row.joined_at} exact />
      <span className="block text-compact text-muted-foreground">{age} before this request</span>
    </>
  )
}

/** One request beside what is known of its member. */
export function RequestDetails<Row extends MoneyRequest>(props: RequestDetailsProps<Row>) {
  const { noun, row, acts, facts, memberFacts = [], buttons, place } = props
  const offline = useOnline() ? null : offlineText
  const blocked = offline ?? props.blocked ?? null
  const pending = row.status === 'pending' && acts.forbidden === null
  const decided: Fact[] = row.decided_at
    ? [
        { label: 'Decided', value: <Timestamp value={row.decided_at} exact /> },
        { label: 'Decided by', value: row.decided_by_name ?? 'The member' },
      ]
    : [{ label: 'Review', value: <Due at={row.due_at} /> }]
  const arrived: Fact[] = [
    ...(row.received_amount ? [{ label: 'Arrived', value: <Money value={row.received_amount} /> }] : []),
    ...(row.rest ? [{ label: 'Rest', value: <RestNote rest={row.rest} /> }] : []),
  ]
  const voided: Fact[] = row.voided_at
    ? [{ label: 'Voided', value: <Timestamp value={row.voided_at} exact /> }]
    : []
  return (
    <Sheet open onOpenChange={(open) => !open && place.onClose()}>
      <SheetContent
        side="right"
        title={`${noun === 'deposit' ? 'Deposit' : 'Withdrawal'} of ${row.username}`}
        footer={
          <>
            {buttons}
            {pending ? (
              <>
                <Button
                  variant="outline"
                  aria-disabled={offline !== null}
                  title={offline ?? undefined}
                  onClick={() => acts.onDecide(row, 'reject')}
                >
                  Reject
                </Button>
                <Button
                  variant="outline"
                  aria-disabled={blocked !== null}
                  title={blocked ?? undefined}
                  onClick={() => acts.onDecide(row, 'approve')}
                >
                  Approve
                </Button>
              </>
            ) : null}
          </>
        }
      >
        <div className="mb-4 flex gap-2">
          <Button variant="outline" size="compact" aria-disabled={!place.previous} onClick={place.previous}>
            Previous
          </Button>
          <Button variant="outline" size="compact" aria-disabled={!place.next} onClick={place.next}>
            Next
          </Button>
        </div>
        <div className="mb-4 text-compact empty:hidden">
          <RequestFlags flags={row.flags} />
        </div>
        <h3 className="mb-2 text-section">Request</h3>
        <Facts
          facts={[
            { label: 'User', value: row.username },
            { label: 'Amount', value: <Money value={row.amount} className="font-semibold" /> },
            ...arrived,
            ...facts,
            { label: 'Status', value: <StatusBadge status={shownStatus(row)} /> },
            { label: 'Date', value: <Timestamp value={row.created_at} exact /> },
            ...decided,
            ...voided,
            { label: 'Admin notes', value: row.admin_notes ?? 'None' },
          ]}
        />
        <h3 className="mt-6 mb-2 text-section">Member</h3>
        <Facts
          facts={[
            { label: 'Display name', value: row.display_name ?? 'None' },
            { label: 'Email', value: <span className="no-kerning">{row.email ?? 'N/A'}</span> },
            { label: 'Joined', value: <Joined row={row} /> },
            {
              label: 'Wallet',
              value: row.trc20_wallet_address ? <Address value={row.trc20_wallet_address} copy /> : 'Not set',
            },
            {
              label: 'Package',
              value:
                compare(row.package_value, '0') === 0 ? 'No package' : <Money value={row.package_value} />,
            },
            { label: 'Cash-in', value: <Money value={row.cash_in_amount} /> },
            { label: 'Available', value: <Money value={row.available_balance} /> },
            ...memberFacts,
          ]}
        />
      </SheetContent>
    </Sheet>
  )
}
