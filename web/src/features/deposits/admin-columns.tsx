import type { ColumnDef } from '@tanstack/react-table'
import { Ellipsis, Image } from 'lucide-react'
import { Address } from '@/components/address'
import { Money } from '@/components/money'
import { StatusBadge } from '@/components/status-badge'
import { Timestamp } from '@/components/timestamp'
import { Button } from '@/components/ui/button'
import {
  DropdownMenu,
  DropdownMenuContent,
  DropdownMenuItem,
  DropdownMenuTrigger,
} from '@/components/ui/dropdown-menu'
import { zoneName } from '@/lib/dates'
import type { AdminDeposit } from './admin-api'

export interface DepositActs {
  /** Why this role may not decide or open receipts; null when it may. */
  forbidden: string | null
  onDetails: (deposit: AdminDeposit) => void
  onReceipt: (deposit: AdminDeposit) => void
  onDecide: (deposit: AdminDeposit, action: 'approve' | 'reject') => void
}

function Actions({ deposit, acts }: { deposit: AdminDeposit; acts: DepositActs }) {
  const { forbidden, onDetails, onDecide } = acts
  return (
    <div className="flex w-full items-center justify-end gap-1.5">
      {deposit.status === 'pending' ? (
        (['approve', 'reject'] as const).map((action) => (
          <Button
            key={action}
            variant="outline"
            size="row"
            className="max-md:grow"
            data-decision={action === 'approve' ? '' : undefined}
            aria-disabled={forbidden !== null}
            title={forbidden ?? undefined}
            aria-label={`${action === 'approve' ? 'Approve' : 'Reject'} the deposit of ${deposit.username}`}
            onClick={() => forbidden === null && onDecide(deposit, action)}
          >
            {action === 'approve' ? 'Approve' : 'Reject'}
          </Button>
        ))
      ) : (
        <Button variant="link" size="row" className="max-md:grow" onClick={() => onDetails(deposit)}>
          Details
        </Button>
      )}
      <DropdownMenu>
        <DropdownMenuTrigger asChild>
          <Button variant="ghost" size="row" aria-label={`More about the deposit of ${deposit.username}`}>
            <Ellipsis aria-hidden />
          </Button>
        </DropdownMenuTrigger>
        <DropdownMenuContent>
          <DropdownMenuItem onSelect={() => onDetails(deposit)}>Details</DropdownMenuItem>
          <DropdownMenuItem disabled={forbidden !== null} onSelect={() => acts.onReceipt(deposit)}>
            View receipt
          </DropdownMenuItem>
        </DropdownMenuContent>
      </DropdownMenu>
    </div>
  )
}

/** The ten columns of the specification. */
export function depositColumns(acts: DepositActs): ColumnDef<AdminDeposit>[] {
  return [
    {
      id: 'user',
      header: 'User',
      meta: { label: 'User', sort: 'username', phone: 'title', fixed: true },
      enableHiding: false,
      cell: ({ row: { original } }) => (
        <button
          type="button"
          title={original.username}
          onClick={() => acts.onDetails(original)}
          className="max-w-[24ch] truncate rounded-mark font-semibold text-primary hover:underline"
        >
          {original.username}
        </button>
      ),
    },
    {
      id: 'amount',
      header: 'Amount',
      meta: { label: 'Amount', align: 'right', sort: 'amount', phone: 'amount' },
      cell: ({ row: { original } }) => <Money value={original.amount} className="font-semibold" />,
    },
    {
      id: 'available_balance',
      header: 'Available Balance',
      meta: { label: 'Available Balance', align: 'right', phone: 'hidden' },
      cell: ({ row: { original } }) => <Money value={original.available_balance} />,
    },
    {
      id: 'total_deposits',
      header: () => (
        <>
          User Balance
          <br />
          Total Deposits
        </>
      ),
      meta: { label: 'User Balance, Total Deposits', align: 'right', phone: 'hidden' },
      cell: ({ row: { original } }) => <Money value={original.total_deposits} />,
    },
    {
      id: 'wallet',
      header: 'Wallet Address',
      meta: { label: 'Wallet Address', phone: 'hidden' },
      cell: ({ row: { original } }) =>
        original.trc20_wallet_address ? <Address value={original.trc20_wallet_address} short /> : 'Not set',
    },
    {
      id: 'reference',
      header: 'Reference',
      meta: { label: 'Reference', phone: 'hidden' },
      cell: ({ row: { original } }) => <Address value={original.reference_number} short what="reference" />,
    },
    {
      id: 'receipt',
      header: 'Receipt',
      meta: { label: 'Receipt', phone: 'hidden' },
      cell: ({ row: { original } }) => (
        <Button
          variant="link"
          size="row"
          className="px-0"
          aria-disabled={acts.forbidden !== null}
          title={acts.forbidden ?? undefined}
          aria-label={`View the receipt of ${original.username}`}
          onClick={() => acts.forbidden === null && acts.onReceipt(original)}
        >
          <Image aria-hidden />
          View
        </Button>
      ),
    },
    {
      id: 'status',
      header: 'Status',
      meta: { label: 'Status', phone: 'status' },
      cell: ({ row: { original } }) => <StatusBadge status={original.status} />,
    },
    {
      id: 'created_at',
      header: `Date, ${zoneName(new Date())}`,
      meta: { label: 'Date', sort: 'created_at', phone: 'date' },
      cell: ({ row: { original } }) => <Timestamp value={original.created_at} exact />,
    },
    {
      id: 'actions',
      header: () => <span className="block text-right">Actions</span>,
      meta: { label: 'Actions', phone: 'actions', align: 'right', fixed: true },
      enableHiding: false,
      cell: ({ row: { original } }) => <Actions deposit={original} acts={acts} />,
    },
  ]
}
