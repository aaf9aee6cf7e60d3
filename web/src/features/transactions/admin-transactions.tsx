import type { ColumnDef } from '@tanstack/react-table'
import { Address } from '@/components/address'
import { DataTable } from '@/components/data-table/data-table'
import { useTableState } from '@/components/data-table/table-state'
import type { TableFilter } from '@/components/data-table/types'
import { useAdminList } from '@/components/data-table/use-admin-list'
import { EmptyState } from '@/components/empty-state'
import { Figure } from '@/components/figure'
import { FigureRow, FigureRowSkeleton } from '@/components/figure-row'
import { MemberLink } from '@/components/member-link'
import { Money } from '@/components/money'
import { MovementAmount } from '@/components/movement-amount'
import { PageHead } from '@/components/page-head'
import { RefreshButton } from '@/components/refresh-button'
import { StatusBadge } from '@/components/status-badge'
import { Timestamp } from '@/components/timestamp'
import { zoneName } from '@/lib/dates'
import { exportCsv } from '@/lib/export-csv'
import { shownStatus } from '@/lib/movement'
import { useMoneyForbidden } from '@/lib/use-admin-role'
import { listTransactions, type AdminTransaction, type TransactionCards } from './admin-api'

const filters: TableFilter[] = [
  {
    key: 'type',
    label: 'Type',
    options: [
      { value: 'all', label: 'All Types' },
      { value: 'deposit', label: 'Deposits' },
      { value: 'withdrawal', label: 'Withdrawals' },
      { value: 'bonus', label: 'Bonuses' },
    ],
  },
  {
    key: 'status',
    label: 'Status',
    options: [
      { value: 'all', label: 'All Status' },
      { value: 'completed', label: 'Completed' },
      { value: 'pending', label: 'Pending' },
      { value: 'failed', label: 'Failed' },
    ],
  },
]

const columns: ColumnDef<AdminTransaction>[] = [
  {
    id: 'user',
    header: 'User',
    meta: { label: 'User', phone: 'title', fixed: true },
    enableHiding: false,
    cell: ({ row: { original } }) => (
      <MemberLink
        profileId={original.profile_id}
        username={original.username}
        className="block max-w-[24ch] truncate md:max-w-[14ch] xl:max-w-[24ch]"
      />
    ),
  },
  {
    id: 'type',
    header: 'Type',
    meta: { label: 'Type' },
    cell: ({ row: { original } }) => <span className="capitalize">{original.transaction_type}</span>,
  },
  {
    id: 'amount',
    header: 'Amount',
    meta: { label: 'Amount', align: 'right', phone: 'amount' },
    cell: ({ row: { original } }) => <MovementAmount item={original} coloured />,
  },
  {
    id: 'status',
    header: 'Status',
    meta: { label: 'Status', phone: 'status' },
    cell: ({ row: { original } }) => <StatusBadge status={shownStatus(original)} />,
  },
  {
    id: 'reference',
    header: 'Reference ID',
    meta: { label: 'Reference ID', spare: 1 },
    cell: ({ row: { original } }) =>
      original.reference_id ? <Address value={original.reference_id} short what="reference" copy /> : 'N/A',
  },
  {
    id: 'created_at',
    header: `Date, ${zoneName(new Date())}`,
    meta: { label: 'Date', sort: 'created_at', phone: 'date' },
    cell: ({ row: { original } }) => <Timestamp value={original.created_at} exact />,
  },
]

function Cards({ cards }: { cards: TransactionCards }) {
  return (
    <FigureRow>
      <Figure
        label="Total transactions"
        value={cards.total.toLocaleString('en-US')}
        explain={{ text: 'Every row of the journal: deposits, withdrawals, bonuses.' }}
      />
      <Figure label="Completed" value={cards.completed.toLocaleString('en-US')} />
      <Figure
        label="Total volume"
        value={<Money value={cards.total_volume} />}
        explain={{ text: 'The amounts of completed rows added up, whichever way the money went.' }}
      />
    </FigureRow>
  )
}

/** Transactions Management: the journal. */
export function AdminTransactions() {
  const table = useTableState({
    sort: 'created_at.desc',
    sortable: ['created_at'],
    filters: { type: 'all', status: 'all' },
  })
  const query = useAdminList('transactions', table, listTransactions, 'Failed to load transactions')
  const forbidden = useMoneyForbidden()
  return (
    <>
      <PageHead
        title="Transactions Management"
        purpose="Every movement of money, newest first."
        actions={<RefreshButton queries={[query]} />}
      />
      <div className="my-6">
        {query.data ? <Cards cards={query.data.cards} /> : <FigureRowSkeleton notes={['', '', '']} />}
      </div>
      <DataTable
        name="transactions"
        noun="transactions"
        caption="Transactions"
        columns={columns}
        query={query}
        table={table}
        rowId={(row) => row.id}
        searchLabel="Search transactions"
        filters={filters}
        errorText="Failed to load transactions"
        loadingText="Loading transactions"
        empty={
          <EmptyState
            drawing="ledger"
            title="No transactions found"
            text="Deposits, withdrawals and bonuses appear here."
          />
        }
        emptyFilteredTitle="No transactions found"
        onExport={
          forbidden === null ? (progress) => exportCsv('transactions', table.state, progress) : undefined
        }
      />
    </>
  )
}
