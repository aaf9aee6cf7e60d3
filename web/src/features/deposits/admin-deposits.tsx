import { useQuery } from '@tanstack/react-query'
import { RefreshCw } from 'lucide-react'
import { useMemo, useState } from 'react'
import { DataTable } from '@/components/data-table/data-table'
import { useTableState } from '@/components/data-table/table-state'
import { DecisionDialog, RequestFlags } from '@/components/decision-dialog'
import { EmptyState } from '@/components/empty-state'
import { PageHead } from '@/components/page-head'
import { StatusCounts } from '@/components/status-counts'
import { Button } from '@/components/ui/button'
import { formatTime } from '@/lib/dates'
import { usePlatform } from '@/lib/platform'
import { useMoneyForbidden } from '@/lib/use-admin-role'
import { useDecisions } from '@/lib/use-decisions'
import { adminDepositsQuery, decideDeposit, type AdminDeposit } from './admin-api'
import { depositColumns, type DepositActs } from './admin-columns'
import { DepositDetails } from './admin-details'
import { depositFacts } from './admin-facts'
import { ReceiptViewer } from './admin-receipt-viewer'

const none: AdminDeposit[] = []

/** Deposits Management: what waits, oldest first, and every decision that was made. */
export function AdminDeposits() {
  const table = useTableState({ sort: 'created_at.asc', filters: { status: 'pending' } })
  const query = useQuery(adminDepositsQuery(table.state))
  const forbidden = useMoneyForbidden()
  const packages = usePlatform().data?.packages ?? []
  const rows = query.data?.items ?? none
  const { open, start, close, markDecided, focusNext } = useDecisions(rows)
  const [detailsId, setDetailsId] = useState<string | null>(null)
  const [receipt, setReceipt] = useState<AdminDeposit | null>(null)
  const details = rows.find((row) => row.id === detailsId)

  const acts = useMemo<DepositActs>(
    () => ({
      forbidden,
      onDetails: (deposit) => setDetailsId(deposit.id),
      onReceipt: setReceipt,
      onDecide: start,
    }),
    // `start` only sets state of this page.
    // eslint-disable-next-line react-hooks/exhaustive-deps
    [forbidden],
  )
  const columns = useMemo(() => depositColumns(acts), [acts])

  return (
    <>
      <PageHead
        title="Deposits Management"
        purpose={
          table.state.filters.status === 'pending'
            ? 'Requests waiting for a decision, oldest first.'
            : 'Every deposit request and its decision.'
        }
        actions={
          <>
            {query.dataUpdatedAt > 0 ? (
              <span className="tabular text-compact text-muted-foreground">
                Updated {formatTime(new Date(query.dataUpdatedAt))}
              </span>
            ) : null}
            <Button
              variant="outline"
              size="compact"
              busy={query.isRefetching && 'Refreshing...'}
              onClick={() => void query.refetch()}
            >
              <RefreshCw aria-hidden />
              Refresh
            </Button>
          </>
        }
      />
      <div className="mt-4 mb-4">
        <StatusCounts counts={query.data?.counts} table={table} />
      </div>
      <DataTable
        name="deposits"
        noun="deposits"
        caption="Deposits"
        columns={columns}
        query={query}
        table={table}
        rowId={(row) => row.id}
        searchLabel="Search deposits"
        errorText="Failed to load deposits"
        loadingText="Loading deposits..."
        empty={
          <EmptyState drawing="mooring" title="No deposits found" text="Requests of members appear here." />
        }
        emptyFilteredTitle="No deposits found"
        rowNote={(row) => (row.flags.length > 0 ? <RequestFlags flags={row.flags} /> : null)}
        selectedId={open?.row.id ?? detailsId}
      />
      {details ? <DepositDetails deposit={details} acts={acts} onClose={() => setDetailsId(null)} /> : null}
      {receipt ? (
        <ReceiptViewer
          receiptUrl={receipt.receipt_url}
          member={receipt.username}
          onClose={() => setReceipt(null)}
        />
      ) : null}
      {open ? (
        <DecisionDialog
          noun="deposit"
          action={open.action}
          amount={open.row.amount}
          facts={depositFacts(open.row, packages, () => setReceipt(open.row))}
          flags={open.row.flags}
          note={
            open.row.flags.some((flag) => flag.kind === 'same_reference')
              ? 'A transaction hash is public. Compare sender, amount and time with the receipt.'
              : undefined
          }
          decide={(reason) => decideDeposit(open.row.id, open.action, reason)}
          onClose={close}
          onDecided={markDecided}
          onCloseAutoFocus={focusNext}
        />
      ) : null}
    </>
  )
}
