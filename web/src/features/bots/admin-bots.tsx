import type { ColumnDef } from '@tanstack/react-table'
import { useMemo, useState } from 'react'
import { DataTable } from '@/components/data-table/data-table'
import { useTableState } from '@/components/data-table/table-state'
import type { TableFilter } from '@/components/data-table/types'
import { useAdminList } from '@/components/data-table/use-admin-list'
import { EmptyState } from '@/components/empty-state'
import { Figure } from '@/components/figure'
import { FigureRow, FigureRowSkeleton } from '@/components/figure-row'
import { MemberLink } from '@/components/member-link'
import { PageHead } from '@/components/page-head'
import { RefreshButton } from '@/components/refresh-button'
import { StatusBadge } from '@/components/status-badge'
import { Timestamp } from '@/components/timestamp'
import { Button } from '@/components/ui/button'
import { cn } from '@/lib/cn'
import { zoneName } from '@/lib/dates'
import { listSubscriptions, type AdminSubscription, type SubscriptionPage } from './admin-api'
import { MaskedPassword, RevealedPassword } from './admin-password'
import { StatusDialog } from './admin-status-dialog'

const filters: TableFilter[] = [
  {
    key: 'status',
    label: 'Status',
    options: [
      { value: 'all', label: 'All Status' },
      { value: 'active', label: 'Active' },
      { value: 'suspended', label: 'Suspended' },
      { value: 'cancelled', label: 'Cancelled' },
    ],
  },
]

/** As long a text as a member may have typed: cut to its column, whole on hover, to a screen reader and on a phone. */
function Typed({ text, className }: { text: string; className?: string }) {
  return (
    <span title={text} className={cn('block max-md:break-all md:truncate', className)}>
      {text}
    </span>
  )
}

interface Acts {
  onChange: (subscription: AdminSubscription) => void
}

function columnsOf({ onChange }: Acts): ColumnDef<AdminSubscription>[] {
  return [
    {
      id: 'user',
      header: 'User',
      meta: { label: 'User', phone: 'title', fixed: true },
      enableHiding: false,
      cell: ({ row: { original } }) => (
        <span className="flex max-w-[28ch] flex-col py-1 leading-tight">
          <MemberLink profileId={original.profile_id} username={original.username} className="truncate" />
          <span
            className="no-kerning truncate text-caption font-normal text-muted-foreground"
            title={original.email ?? undefined}
          >
            {original.email ?? 'N/A'}
          </span>
          {original.display_name ? (
            <span className="truncate text-caption font-normal text-muted-foreground">
              {original.display_name}
            </span>
          ) : null}
        </span>
      ),
    },
    {
      id: 'bot_name',
      header: 'Bot',
      meta: { label: 'Bot', phone: 'date' },
      cell: ({ row: { original } }) => original.bot_name,
    },
    {
      id: 'status',
      header: 'Status',
      meta: { label: 'Status', phone: 'status' },
      cell: ({ row: { original } }) => <StatusBadge status={original.status} />,
    },
    {
      id: 'mt5_server',
      header: 'MT5 Server',
      meta: { label: 'MT5 Server', yields: true, spare: 2 },
      cell: ({ row: { original } }) => <Typed text={original.mt5_server} />,
    },
    {
      id: 'mt5_login',
      header: 'MT5 Login',
      meta: { label: 'MT5 Login', yields: true, spare: 3 },
      cell: ({ row: { original } }) => <Typed text={original.mt5_login} className="tabular" />,
    },
    {
      id: 'mt5_password',
      header: 'MT5 Password',
      meta: { label: 'MT5 Password', yields: true },
      cell: ({ row: { original } }) => <MaskedPassword subscription={original} />,
    },
    {
      id: 'subscribed_at',
      header: `Subscribed, ${zoneName(new Date())}`,
      meta: { label: 'Subscribed', sort: 'subscribed_at', spare: 1 },
      cell: ({ row: { original } }) => <Timestamp value={original.subscribed_at} exact />,
    },
    {
      id: 'actions',
      header: () => <span className="block text-right">Actions</span>,
      meta: { label: 'Actions', phone: 'actions', align: 'right', fixed: true },
      enableHiding: false,
      cell: ({ row: { original } }) =>
        original.status === 'cancelled' ? null : (
          <Button
            variant="outline"
            size="row"
            className="max-md:grow"
            aria-label={`${original.status === 'active' ? 'Suspend' : 'Resume'} ${original.bot_name} of ${original.username}`}
            onClick={() => onChange(original)}
          >
            {original.status === 'active' ? 'Suspend' : 'Resume'}
          </Button>
        ),
    },
  ]
}

function Cards({ counts }: Pick<SubscriptionPage, 'counts'>) {
  const total = counts.active + counts.suspended + counts.cancelled
  return (
    <FigureRow>
      <Figure label="Total subscriptions" value={total.toLocaleString('en-US')} />
      <Figure label="Active" value={counts.active.toLocaleString('en-US')} />
      <Figure label="Suspended" value={counts.suspended.toLocaleString('en-US')} />
      <Figure label="Cancelled" value={counts.cancelled.toLocaleString('en-US')} note="by the member" />
    </FigureRow>
  )
}

/** Bot Subscriptions. */
export function AdminBots() {
  const table = useTableState({
    sort: 'subscribed_at.desc',
    sortable: ['subscribed_at'],
    filters: { status: 'all' },
  })
  const query = useAdminList('subscriptions', table, listSubscriptions, 'Failed to fetch bot subscriptions')
  const [changing, setChanging] = useState<AdminSubscription | null>(null)
  const columns = useMemo(() => columnsOf({ onChange: setChanging }), [])
  return (
    <>
      <PageHead
        title="Bot Subscriptions"
        purpose="Who runs which bot, and on which trading account."
        actions={<RefreshButton queries={[query]} />}
      />
      <div className="my-6">
        {query.data ? (
          <Cards counts={query.data.counts} />
        ) : (
          <FigureRowSkeleton notes={['', '', '', 'by the member']} />
        )}
      </div>
      <RevealedPassword>
        <DataTable
          name="subscriptions"
          noun="subscriptions"
          caption="Bot subscriptions"
          columns={columns}
          query={query}
          table={table}
          rowId={(row) => row.id}
          searchLabel="Search subscriptions"
          filters={filters}
          errorText="Failed to fetch bot subscriptions"
          loadingText="Loading subscriptions"
          empty={
            <EmptyState
              drawing="mooring"
              title="No bot subscriptions found."
              text="Members who subscribe to a bot appear here."
            />
          }
          emptyFilteredTitle="No subscriptions found matching your search."
          density="comfortable"
        />
      </RevealedPassword>
      {changing ? <StatusDialog subscription={changing} onClose={() => setChanging(null)} /> : null}
    </>
  )
}
