import type { ColumnDef } from '@tanstack/react-table'
import { useState } from 'react'
import { Address } from '@/components/address'
import { Money } from '@/components/money'
import { Reference } from '@/components/reference'
import type { RequestActs } from '@/components/requests/request'
import { requestColumns } from '@/components/requests/request-columns'
import { RequestDetails } from '@/components/requests/request-details'
import { RequestList } from '@/components/requests/request-list'
import { VoidRequest } from '@/components/requests/void-request'
import { Change, type Fact } from '@/components/review-dialog'
import { Button } from '@/components/ui/button'
import { compare } from '@/lib/money'
import { decideWithdrawal, listWithdrawals, type AdminWithdrawal } from './admin-api'
import { PayoutDialog, PayoutField } from './admin-payout'

/** The balance does not cover it: the approval would be refused. */
function blockedText(row: AdminWithdrawal): string | null {
  const uncovered = row.status === 'pending' && compare(row.available_balance, row.amount) < 0
  return uncovered ? 'Insufficient available balance' : null
}

function columnsOf(acts: RequestActs<AdminWithdrawal>): ColumnDef<AdminWithdrawal>[] {
  const { first, last } = requestColumns<AdminWithdrawal>({ noun: 'withdrawal', acts, blocked: blockedText })
  return [
    ...first,
    {
      id: 'user_balance',
      header: 'User Balance',
      meta: { label: 'User Balance', align: 'right', phone: 'hidden' },
      cell: ({ row: { original } }) => (
        <span title="Cash-in: the member's approved deposits">
          Package: <Money value={original.cash_in_amount} />
        </span>
      ),
    },
    {
      id: 'wallet',
      header: 'Wallet Address',
      meta: { label: 'Wallet Address', phone: 'hidden' },
      cell: ({ row: { original } }) => (
        <span className="flex flex-col">
          <Address value={original.wallet_address} short />
          {blockedText(original) ? (
            <span className="text-caption text-destructive">Insufficient available balance</span>
          ) : null}
        </span>
      ),
    },
    ...last,
  ]
}

function factsOf(row: AdminWithdrawal): Fact[] {
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
    {
      label: 'Available',
      value: (
        <Change from={<Money value={row.available_balance} />} to={<Money value={row.available_after} />} />
      ),
    },
  ]
}

/** What is left to do with an approved withdrawal: to tell how it was paid, or to void it while it was not. */
function UnpaidActs({ row, acts }: { row: AdminWithdrawal; acts: RequestActs<AdminWithdrawal> }) {
  const [paying, setPaying] = useState(false)
  if (row.payout_reference !== null) return null
  return (
    <>
      {row.status === 'approved' && row.voided_at === null && acts.forbidden === null ? (
        <Button variant="outline" onClick={() => setPaying(true)}>
          Add payout reference
        </Button>
      ) : null}
      <VoidRequest noun="withdrawal" row={row} />
      {paying ? <PayoutDialog row={row} onClose={() => setPaying(false)} /> : null}
    </>
  )
}

/** Withdrawals Management. */
export function AdminWithdrawals() {
  // With the row it was typed for: the next one has a payout of its own.
  const [payout, setPayout] = useState({ id: '', reference: '' })
  const referenceOf = (row: AdminWithdrawal) => (payout.id === row.id ? payout.reference : '')
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
            value={referenceOf(row)}
            onChange={(reference) => setPayout({ id: row.id, reference })}
          />
        ) : undefined
      }
      decide={(row, action, reason) =>
        decideWithdrawal(row.id, action, reason, action === 'approve' ? referenceOf(row).trim() : '')
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
