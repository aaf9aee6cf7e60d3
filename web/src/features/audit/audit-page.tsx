import type { ColumnDef } from '@tanstack/react-table'
import { useMemo, useState } from 'react'
import { Address } from '@/components/address'
import { DataTable } from '@/components/data-table/data-table'
import { useTableState } from '@/components/data-table/table-state'
import type { TableFilter } from '@/components/data-table/types'
import { useAdminList } from '@/components/data-table/use-admin-list'
import { EmptyState } from '@/components/empty-state'
import { PageHead } from '@/components/page-head'
import { RefreshButton } from '@/components/refresh-button'
import { Timestamp } from '@/components/timestamp'
import { zoneName } from '@/lib/dates'
import { exportCsv } from '@/lib/export-csv'
import { useAdminRole } from '@/lib/use-admin-role'
import { listAudit, type AuditEntry, type AuditPage as Page } from './api'
import { AuditSheet } from './audit-sheet'
import { actionWords, requestOf, roleWords } from './words'

const areas = [
  ['deposit', 'Deposits'],
  ['withdrawal', 'Withdrawals'],
  ['correction', 'Corrections'],
  ['alarm', 'Alarms'],
  ['member', 'Members'],
  ['bot', 'Bots'],
  ['setting', 'Settings'],
  ['admin', 'Administrators'],
  ['list', 'Exports'],
  ['books', 'Ledger'],
] as const

const actionFilter: TableFilter = {
  key: 'action',
  label: 'Action',
  options: [{ value: 'all', label: 'All Actions' }, ...areas.map(([value, label]) => ({ value, label }))],
}

const days: TableFilter[] = [
  { key: 'from', label: 'From, UTC' },
  { key: 'to', label: 'To, UTC' },
]

/** By action and day, and by who acted where more than the own acts are to be seen. */
function filtersOf(administrators: Page['administrators'] | undefined): TableFilter[] {
  if (!administrators || administrators.length < 2) return [actionFilter, ...days]
  const options = administrators.map(({ id, name }) => ({ value: id, label: name }))
  return [
    actionFilter,
    { key: 'adminId', label: 'Administrator', options: [{ value: 'all', label: 'Everybody' }, ...options] },
    ...days,
  ]
}

function columnsOf(onOpen: (entry: AuditEntry) => void): ColumnDef<AuditEntry>[] {
  return [
    {
      id: 'at',
      header: `Time, ${zoneName(new Date())}`,
      meta: { label: 'Time', phone: 'date', fixed: true },
      enableHiding: false,
      cell: ({ row: { original } }) => <Timestamp value={original.at} exact />,
    },
    {
      id: 'actor',
      header: 'Actor',
      meta: { label: 'Actor', phone: 'value' },
      cell: ({ row: { original } }) => original.actor_name ?? original.actor,
    },
    {
      id: 'role',
      header: 'Role',
      meta: { label: 'Role', phone: 'hidden', spare: 3 },
      cell: ({ row: { original } }) => roleWords(original),
    },
    {
      id: 'action',
      header: 'Action',
      meta: { label: 'Action', phone: 'title' },
      cell: ({ row: { original } }) => (
        <button
          type="button"
          onClick={() => onOpen(original)}
          className="rounded-mark text-left font-semibold md:whitespace-nowrap text-primary hover:underline"
        >
          {actionWords(original.action)}
        </button>
      ),
    },
    {
      id: 'target',
      header: 'Target',
      meta: { label: 'Target', phone: 'hidden', spare: 4 },
      cell: ({ row: { original } }) =>
        original.object_id ? <Address value={original.object_id} short what="target" copy /> : 'None',
    },
    {
      id: 'request',
      header: 'Request ID',
      meta: { label: 'Request ID', phone: 'hidden', spare: 2 },
      cell: ({ row: { original } }) => {
        const request = requestOf(original)
        return request ? <Address value={request} short what="request id" copy /> : 'None'
      },
    },
    {
      id: 'seq',
      header: 'Number',
      meta: { label: 'Number', align: 'right', phone: 'hidden', spare: 1 },
      cell: ({ row: { original } }) => original.seq.toLocaleString('en-US'),
    },
  ]
}

/** Every recorded act, newest first. Nothing here can be changed. */
export function AuditPage() {
  const table = useTableState({
    sort: 'at.desc',
    filters: { action: 'all', adminId: 'all', from: 'all', to: 'all' },
  })
  const query = useAdminList('audit', table, listAudit, 'Failed to load the audit log')
  const [open, setOpen] = useState<AuditEntry | null>(null)
  const columns = useMemo(() => columnsOf(setOpen), [])
  const own = useAdminRole() === 'support_admin'
  return (
    <>
      <PageHead
        title="Audit"
        purpose={
          own ? 'What you did, newest first.' : 'Who did what, newest first. Nothing here can be changed.'
        }
        actions={<RefreshButton queries={[query]} />}
      />
      <div className="mt-6">
        <DataTable
          name="audit"
          noun="entries"
          caption="Audit log"
          columns={columns}
          query={query}
          table={table}
          rowId={(row) => String(row.seq)}
          searchLabel="Search by username or id"
          filters={filtersOf(query.data?.administrators)}
          errorText="Failed to load the audit log"
          loadingText="Loading the audit log"
          empty={
            <EmptyState drawing="ledger" title="Nothing recorded yet" text="Every decision appears here." />
          }
          emptyFilteredTitle="No matching entries"
          selectedId={open ? String(open.seq) : null}
          onExport={(progress) => exportCsv('audit', { ...table.state, sort: '' }, progress)}
        />
      </div>
      {open ? <AuditSheet entry={open} onClose={() => setOpen(null)} /> : null}
    </>
  )
}
