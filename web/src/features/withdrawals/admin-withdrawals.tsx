import type { ColumnDef } from '@tanstack/react-table'
import { useState } from 'react'
import { Address } from '@/components/address'
import { Money, Unknown } from '@/components/money'
import { Reference } from '@/components/reference'
import type { DecisionAction, RequestActs } from '@/components/requests/request'
import { requestColumns } from '@/components/requests/request-columns'
import { RequestDetails } from '@/components/requests/request-details'
import { RequestList } from '@/components/requests/request-list'
import { flagText } from '@/components/requests/texts'
import { VoidRequest } from '@/components/requests/void-request'
import { Change, type Fact } from '@/components/review-dialog'
import { Badge } from '@/components/status-badge'
import { Timestamp } from '@/components/timestamp'
import { Button } from '@/components/ui/button'
import { compare } from '@/lib/money'
import { offlineText, useOnline } from '@/lib/use-online'
import { decideWithdrawal, listWithdrawals, type AdminWithdrawal } from './admin-api'
import { noPayout, PayoutDialog, PayoutField, sendPayout, type PayoutEntry } from './admin-payout'

interface UnpaidActsProps {
  row: AdminWithdrawal
  acts: RequestActs<AdminWithdrawal>
}

/** The balance does not cover it. */
function isUncovered(row: AdminWithdrawal): boolean {
  return row.status === 'pending' && compare(row.available_balance, row.amount) < 0
}

/** Why the approval would be refused. */
function blockedText(row: AdminWithdrawal): string | null {
  if (isUncovered(row)) return 'Insufficient available balance'
  const hold = row.flags.find((flag) => flag.kind === 'hold')
  return hold ? flagText(hold) : null
}

/** Whether it was approved and still has to be recorded as paid. */
function isUnpaid({ status, voided_at: voided, payout_reference: reference }: AdminWithdrawal): boolean {
  return status === 'approved' && voided === null && reference === null
}

function PayoutState({ row }: { row: AdminWithdrawal }) {
  if (row.payout_reference !== null)
    return <Address value={row.payout_reference} short what="payout reference" copy />
  return isUnpaid(row) ? <Badge tone="warning">Unpaid</Badge> : <Unknown />
}

/** Records how a withdrawal was paid, from where it is listed or shown. */
function PayoutButton({ row, acts, size }: UnpaidActsProps & { size?: 'row' }) {
  const [paying, setPaying] = useState(false)
  const online = useOnline()
  if (!isUnpaid(row) || acts.forbidden !== null) return null
  return (
    <>
      <Button
        variant="outline"
        size={size}
        className={size && 'max-md:grow'}
        aria-disabled={!online}
        title={online ? undefined : offlineText}
        aria-label={size && `Add the payout reference of ${row.username}`}
        onClick={() => setPaying(true)}
      >
        {size ? 'Add payout' : 'Add payout reference'}
      </Button>
      {paying ? <PayoutDialog row={row} onClose={() => setPaying(false)} /> : null}
    </>
  )
}

function columnsOf(acts: RequestActs<AdminWithdrawal>): ColumnDef<AdminWithdrawal>[] {
  const { first, last } = requestColumns<AdminWithdrawal>({
    noun: 'withdrawal',
    acts,
    blocked: blockedText,
    act: (row) => <PayoutButton row={row} acts={acts} size="row" />,
  })
  return [
    ...first,
    {
      id: 'user_balance',
      header: 'User Balance',
      meta: { label: 'User Balance', align: 'right', phone: 'hidden', spare: 1 },
      cell: ({ row: { original } }) => (
        <span className="whitespace-nowrap" title="Cash-in: the member's approved deposits">
          Package: <Money value={original.cash_in_amount} />
        </span>
      ),
    },
    {
      id: 'wallet',
      header: 'Wallet Address',
      meta: { label: 'Wallet Address', phone: 'hidden', spare: 3 },
      cell: ({ row: { original } }) => (
        <span className="flex flex-col py-1">
          <Address value={original.wallet_address} short />
          {isUncovered(original) ? (
            <span className="text-caption text-destructive">Insufficient available balance</span>
          ) : null}
        </span>
      ),
    },
    {
      id: 'payout',
      header: 'Payout',
      meta: { label: 'Payout', phone: 'hidden', spare: 4 },
      cell: ({ row: { original } }) => <PayoutState row={original} />,
    },
    ...last,
  ]
}

function factsOf(row: AdminWithdrawal, action: DecisionAction): Fact[] {
  return [
    {
      label: 'Member',
      value: (
        <>
          <span className="font-semibold">{row.display_name}</span> {row.username}
        </>
      ),
    },
    { label: 'Amount', value: <Money value={row.amount} className="font-semibold" /> },
    { label: 'Address', value: <Address value={row.wallet_address} copy /> },
    ...(action === 'approve'
      ? [
          {
            label: 'Available',
            value: (
              <Change
                from={<Money value={row.available_balance} />}
                to={<Money value={row.available_after} />}
              />
            ),
          },
        ]
      : []),
  ]
}

/** What is left to do with an approved withdrawal: to tell how it was paid, or to void it while it was not. */
function UnpaidActs({ row, acts }: UnpaidActsProps) {
  if (row.payout_reference !== null) return null
  return (
    <>
      <PayoutButton row={row} acts={acts} />
      <VoidRequest noun="withdrawal" row={row} />
    </>
  )
}

/** Withdrawals Management. */
export function AdminWithdrawals() {
  // With the row it was typed for: the next one has a payout of its own.
  const [payout, setPayout] = useState<PayoutEntry & { id: string }>({ ...noPayout, id: '' })
  const payoutOf = (row: AdminWithdrawal) => (payout.id === row.id ? payout : noPayout)
  return (
    <RequestList
      noun="withdrawal"
      load={listWithdrawals}
      columnsOf={columnsOf}
      factsOf={factsOf}
      noteOf={(_row, action) =>
        action === 'approve' ? 'Approving records the payout; it does not send USDT.' : undefined
      }
      fieldsOf={(row, action) =>
        action === 'approve' ? (
          <PayoutField
            label="Payout reference (optional)"
            value={payoutOf(row)}
            onChange={(entry) => setPayout({ ...entry, id: row.id })}
          />
        ) : undefined
      }
      decide={(row, action, reason) =>
        sendPayout(
          action === 'approve' ? payoutOf(row) : noPayout,
          (entry) => setPayout({ ...entry, id: row.id }),
          (sent) => decideWithdrawal(row.id, action, reason, sent),
        )
      }
      details={(row, acts, place) => (
        <RequestDetails
          noun="withdrawal"
          row={row}
          acts={acts}
          blocked={blockedText(row)}
          facts={[
            { label: 'Pay to', value: <Address value={row.wallet_address} copy /> },
            ...(row.payout_reference
              ? [
                  {
                    label: 'Payout',
                    value: <Reference value={row.payout_reference} what="payout reference" copy />,
                  },
                  ...(row.payout_at
                    ? [{ label: 'Paid', value: <Timestamp value={row.payout_at} exact /> }]
                    : []),
                ]
              : []),
          ]}
          buttons={<UnpaidActs row={row} acts={acts} />}
          place={place}
        />
      )}
    />
  )
}
