import type { ColumnDef } from '@tanstack/react-table'
import { Address } from '@/components/address'
import { Money } from '@/components/money'
import { Badge, StatusBadge } from '@/components/status-badge'
import { Timestamp } from '@/components/timestamp'
import { Button } from '@/components/ui/button'
import { zoneName } from '@/lib/dates'
import type { AdminMember } from './admin-api'

/** Approved once a package was bought; Pending says only that there is none yet. */
export function PackageStatus({ approved }: { approved: boolean }) {
  return (
    <span title={approved ? undefined : 'No approved package yet'}>
      <StatusBadge status={approved ? 'approved' : 'pending'} />
      {approved ? null : <span className="sr-only">: no approved package yet</span>}
    </span>
  )
}

export function Verified({ verified }: { verified: boolean }) {
  return verified ? <StatusBadge status="verified" /> : <Badge>Unverified</Badge>
}

/** The columns of the members' list. */
export function memberColumns(onDetails: (member: AdminMember) => void): ColumnDef<AdminMember>[] {
  return [
    {
      id: 'username',
      header: 'Username',
      meta: { label: 'Username', sort: 'username', phone: 'title', fixed: true },
      enableHiding: false,
      cell: ({ row: { original } }) => (
        <button
          type="button"
          title={original.username}
          onClick={() => onDetails(original)}
          className="max-w-[24ch] truncate rounded-mark font-semibold text-primary hover:underline"
        >
          {original.username}
        </button>
      ),
    },
    {
      id: 'email',
      header: 'Email',
      meta: { label: 'Email', phone: 'hidden', yields: true },
      cell: ({ row: { original } }) => (
        <span className="no-kerning block truncate" title={original.email ?? undefined}>
          {original.email ?? 'N/A'}
        </span>
      ),
    },
    {
      id: 'wallet',
      header: 'Wallet Address',
      meta: { label: 'Wallet Address', phone: 'hidden', spare: 1 },
      cell: ({ row: { original } }) =>
        original.trc20_wallet_address ? <Address value={original.trc20_wallet_address} short /> : 'Not set',
    },
    {
      id: 'package_value',
      header: 'Package',
      meta: { label: 'Package', sort: 'package_value', align: 'right', phone: 'amount' },
      cell: ({ row: { original } }) => <Money value={original.package_value} />,
    },
    {
      id: 'package_status',
      header: 'Package Status',
      meta: { label: 'Package Status', phone: 'hidden', spare: 2 },
      cell: ({ row: { original } }) => <PackageStatus approved={original.package_approved} />,
    },
    {
      id: 'account_status',
      header: 'Account Status',
      meta: { label: 'Account Status', phone: 'status' },
      cell: ({ row: { original } }) => <StatusBadge status={original.account_status} />,
    },
    {
      id: 'verified',
      header: 'Verified',
      meta: { label: 'Verified', phone: 'hidden', spare: 3 },
      cell: ({ row: { original } }) => <Verified verified={original.account_verified} />,
    },
    {
      id: 'created_at',
      header: `Joined, ${zoneName(new Date())}`,
      meta: { label: 'Joined', sort: 'created_at', phone: 'hidden', spare: 4 },
      cell: ({ row: { original } }) => <Timestamp value={original.created_at} exact />,
    },
    {
      id: 'actions',
      header: () => <span className="block text-right">Actions</span>,
      meta: { label: 'Actions', phone: 'actions', align: 'right', fixed: true },
      enableHiding: false,
      cell: ({ row: { original } }) => (
        <Button
          variant="outline"
          size="row"
          className="max-md:grow"
          aria-label={`Details of ${original.username}`}
          onClick={() => onDetails(original)}
        >
          Details
        </Button>
      ),
    },
  ]
}
