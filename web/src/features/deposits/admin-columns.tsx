import type { ColumnDef } from '@tanstack/react-table'
import { Image } from 'lucide-react'
import { Address } from '@/components/address'
import { Money } from '@/components/money'
import { Reference } from '@/components/reference'
import type { RequestActs } from '@/components/requests/request'
import { requestColumns } from '@/components/requests/request-columns'
import { Button } from '@/components/ui/button'
import { DropdownMenuItem } from '@/components/ui/dropdown-menu'
import type { AdminDeposit } from './admin-api'
import { referencesOf } from './admin-facts'

/** The ten columns of the deposits list. */
export function depositColumns(
  acts: RequestActs<AdminDeposit>,
  onReceipt: (deposit: AdminDeposit) => void,
): ColumnDef<AdminDeposit>[] {
  const { first, last } = requestColumns<AdminDeposit>({
    noun: 'deposit',
    acts,
    blocked: ({ refusal }) => refusal,
    menu: (deposit) => (
      <>
        <DropdownMenuItem disabled={acts.forbidden !== null} onSelect={() => onReceipt(deposit)}>
          View receipt
        </DropdownMenuItem>
        {deposit.status === 'pending' ? (
          <DropdownMenuItem
            disabled={acts.forbidden !== null}
            onSelect={() => acts.onDecide(deposit, 'ask_rest')}
          >
            Ask for the rest
          </DropdownMenuItem>
        ) : null}
      </>
    ),
  })
  return [
    ...first,
    {
      id: 'total_deposits',
      header: () => (
        <span className="whitespace-nowrap">
          User Balance
          <br />
          Total Deposits
        </span>
      ),
      meta: { label: 'User Balance, Total Deposits', align: 'right', phone: 'hidden', spare: 1 },
      cell: ({ row: { original } }) => <Money value={original.total_deposits} />,
    },
    {
      id: 'wallet',
      header: 'Wallet Address',
      meta: { label: 'Wallet Address', phone: 'hidden', spare: 3 },
      cell: ({ row: { original } }) =>
        original.trc20_wallet_address ? <Address value={original.trc20_wallet_address} short /> : 'Not set',
    },
    {
      id: 'reference',
      header: 'Reference',
      meta: { label: 'Reference', phone: 'hidden', spare: 4 },
      cell: ({ row: { original } }) => (
        <span className="inline-flex flex-col items-start">
          {referencesOf(original).map((reference) => (
            <Reference key={reference} value={reference} short />
          ))}
        </span>
      ),
    },
    {
      id: 'receipt',
      header: 'Receipt',
      meta: { label: 'Receipt', phone: 'hidden', spare: 5 },
      cell: ({ row: { original } }) => (
        <Button
          variant="link"
          size="row"
          className="px-0"
          aria-disabled={acts.forbidden !== null}
          title={acts.forbidden ?? undefined}
          aria-label={`View the receipt of ${original.username}`}
          onClick={() => onReceipt(original)}
        >
          <Image aria-hidden />
          View
        </Button>
      ),
    },
    ...last,
  ]
}
