import type { ColumnDef } from '@tanstack/react-table'
import { useMemo, useState, type ReactNode } from 'react'
import { DataTable } from '@/components/data-table/data-table'
import { useTableState } from '@/components/data-table/table-state'
import { useAdminList, type ListRequest } from '@/components/data-table/use-admin-list'
import { EmptyState } from '@/components/empty-state'
import { LedgerBanner } from '@/components/ledger-banner'
import { PageHead } from '@/components/page-head'
import { RefreshButton } from '@/components/refresh-button'
import type { Fact } from '@/components/review-dialog'
import { exportCsv } from '@/lib/export-csv'
import { useMoneyForbidden } from '@/lib/use-admin-role'
import { DecisionDialog, RequestFlags } from './decision-dialog'
import type { DecisionAction, DetailsPlace, MoneyRequest, RequestActs, RequestPage } from './request'
import { StatusCounts } from './status-counts'
import { requestTexts } from './texts'
import { useDecisions } from './use-decisions'

interface RequestListProps<Row extends MoneyRequest> {
  noun: 'deposit' | 'withdrawal'
  load: (request: ListRequest) => Promise<RequestPage<Row>>
  columnsOf: (acts: RequestActs<Row>) => ColumnDef<Row>[]
  /** What the decision dialog repeats. */
  factsOf: (row: Row) => Fact[]
  noteOf?: (row: Row, action: DecisionAction) => ReactNode
  /** More fields of the decision dialog. */
  fieldsOf?: (row: Row, action: DecisionAction) => ReactNode
  decide: (row: Row, action: DecisionAction, reason: string) => Promise<void>
  details: (row: Row, acts: RequestActs<Row>, place: DetailsPlace) => ReactNode
}

/** A list of requests for money: what waits, oldest first, and every decision that was made. */
export function RequestList<Row extends MoneyRequest>(props: RequestListProps<Row>) {
  const { noun, load, columnsOf, factsOf, noteOf, fieldsOf, decide, details } = props
  const table = useTableState({ sort: 'created_at.asc', filters: { status: 'pending' } })
  const query = useAdminList(noun, table, load, requestTexts[noun].failedToLoad)
  const forbidden = useMoneyForbidden()
  const rows = query.data?.items
  const { open, start, close, markDecided, focusNext } = useDecisions<Row>(rows ?? [])
  const [detailsId, setDetailsId] = useState<string | null>(null)
  const at = rows?.findIndex((row) => row.id === detailsId) ?? -1
  const shown = rows?.[at]
  const toDetails = (row: Row | undefined) => row && (() => setDetailsId(row.id))
  const nouns = `${noun}s` as const
  const texts = requestTexts[noun]

  const acts = useMemo<RequestActs<Row>>(
    () => ({ forbidden, onDetails: (row) => setDetailsId(row.id), onDecide: start }),
    // `start` only sets state of this page.
    // eslint-disable-next-line react-hooks/exhaustive-deps
    [forbidden],
  )
  const columns = useMemo(() => columnsOf(acts), [columnsOf, acts])

  return (
    <>
      <PageHead
        title={texts.title}
        purpose={
          table.state.filters.status === 'pending'
            ? 'Requests waiting for a decision, oldest first.'
            : `Every ${noun} request and its decision.`
        }
        actions={<RefreshButton queries={[query]} />}
      />
      <LedgerBanner className="mt-4" />
      <div className="my-4">
        <StatusCounts counts={query.data?.counts} table={table} />
      </div>
      <DataTable
        name={nouns}
        noun={nouns}
        caption={texts.title}
        columns={columns}
        query={query}
        table={table}
        rowId={(row) => row.id}
        searchLabel={texts.search}
        errorText={texts.failedToLoad}
        loadingText={texts.loading}
        empty={<EmptyState drawing="mooring" title={texts.none} text="Requests of members appear here." />}
        emptyFilteredTitle={texts.none}
        rowNote={(row) => (row.flags.length > 0 ? <RequestFlags flags={row.flags} /> : null)}
        selectedId={open?.row.id ?? detailsId}
        // Who may not decide about money may not take the list away either.
        onExport={forbidden === null ? (progress) => exportCsv(nouns, table.state, progress) : undefined}
      />
      {shown
        ? details(shown, acts, {
            previous: toDetails(rows[at - 1]),
            next: toDetails(rows[at + 1]),
            onClose: () => setDetailsId(null),
          })
        : null}
      {open ? (
        <DecisionDialog
          noun={noun}
          action={open.action}
          amount={open.row.amount}
          facts={factsOf(open.row)}
          flags={open.row.flags}
          userId={open.row.user_id}
          note={noteOf?.(open.row, open.action)}
          decide={(reason) => decide(open.row, open.action, reason)}
          onClose={close}
          onDecided={() => {
            setDetailsId(null)
            markDecided()
          }}
          onCloseAutoFocus={focusNext}
        >
          {fieldsOf?.(open.row, open.action)}
        </DecisionDialog>
      ) : null}
    </>
  )
}
