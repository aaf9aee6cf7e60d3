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
import type { RequestNoun } from '@/lib/request-changes'
import { useAddress } from '@/lib/use-address'
import { useMoneyForbidden } from '@/lib/use-admin-role'
import { DecisionDialog } from './decision-dialog'
import { FreshRows } from './fresh-rows'
import type { DecisionAction, DetailsPlace, MoneyRequest, RequestActs, RequestPage } from './request'
import { RowNote } from './row-note'
import { StatusCounts } from './status-counts'
import { requestTexts } from './texts'
import { useChanges } from './use-changes'
import { useDecisions } from './use-decisions'

// What is the same on every row that waits.
const sameWhilePending = ['status', 'payout']

interface RequestListProps<Row extends MoneyRequest> {
  noun: RequestNoun
  load: (request: ListRequest) => Promise<RequestPage<Row>>
  columnsOf: (acts: RequestActs<Row>) => ColumnDef<Row>[]
  /** What the decision dialog repeats. */
  factsOf: (row: Row, action: DecisionAction) => Fact[]
  /** What is to be done about its flags before the decision. */
  flagNoteOf?: (row: Row, action: DecisionAction) => string | undefined
  noteOf?: (row: Row, action: DecisionAction) => ReactNode
  /** More fields of the decision dialog. */
  fieldsOf?: (row: Row, action: DecisionAction, onDecide: RequestActs<Row>['onDecide']) => ReactNode
  /** What a rejection says unless another reason is typed. */
  suggestedReasonOf?: (row: Row) => string
  decide: (row: Row, action: DecisionAction, reason: string) => Promise<void>
  /** Whether an error stands at one of the fields by now. */
  isPlaced?: (error: unknown) => boolean
  details: (row: Row, acts: RequestActs<Row>, place: DetailsPlace) => ReactNode
}

/** What is worked off from its oldest end; every other view begins with what is newest. */
const queues: Record<string, string> = {
  pending: 'Requests waiting for a decision, oldest first.',
  unpaid: 'Approved withdrawals that are not recorded as paid, oldest first.',
}

function useRequestTable() {
  const [address] = useAddress()
  const status = address.get('status') ?? 'pending'
  const table = useTableState({
    sort: status in queues ? 'created_at.asc' : 'created_at.desc',
    sortable: ['created_at', 'amount', 'username'],
    filters: { status: 'pending' },
  })
  return { table, status }
}

/** A list of requests for money: what waits, oldest first, and every decision that was made. */
export function RequestList<Row extends MoneyRequest>(props: RequestListProps<Row>) {
  const { noun, load, columnsOf, factsOf, flagNoteOf, noteOf, fieldsOf, decide, details } = props
  const { suggestedReasonOf, isPlaced } = props
  const { table, status } = useRequestTable()
  const query = useAdminList(noun, table, load, requestTexts[noun].failedToLoad)
  const forbidden = useMoneyForbidden()
  const { items: rows, fresh, counts } = useChanges(noun, query.data, table)
  const { open, start, close, markDecided, reread, focusNext } = useDecisions<Row>(rows ?? [])
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
        purpose={queues[status] ?? `Every ${noun} request and its decision.`}
        actions={<RefreshButton queries={[query]} />}
      />
      <LedgerBanner className="mt-4" />
      <div className="my-4 flex flex-wrap items-end justify-between gap-x-4 gap-y-2 border-b">
        <StatusCounts noun={noun} counts={counts ?? query.data?.counts} table={table} />
        <div className="pb-2 empty:hidden">
          <FreshRows
            noun={noun}
            fresh={fresh}
            counts={counts}
            table={table}
            onShow={() => void query.refetch()}
          />
        </div>
      </div>
      <DataTable
        name={nouns}
        noun={nouns}
        caption={texts.title}
        columns={columns}
        query={query}
        items={rows}
        concealed={status === 'pending' ? sameWhilePending : undefined}
        table={table}
        rowId={(row) => row.id}
        searchLabel={texts.search}
        errorText={texts.failedToLoad}
        loadingText={texts.loading}
        empty={<EmptyState drawing="mooring" title={texts.none} text="Requests of members appear here." />}
        emptyFilteredTitle={texts.none}
        rowNote={(row) =>
          row.decidedMeanwhile || row.rest || row.flags.length > 0 ? <RowNote row={row} /> : null
        }
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
          row={open.row}
          facts={factsOf(open.row, open.action)}
          flagNote={flagNoteOf?.(open.row, open.action)}
          note={noteOf?.(open.row, open.action)}
          suggestedReason={suggestedReasonOf?.(open.row)}
          decide={(reason) => decide(open.row, open.action, reason)}
          isPlaced={isPlaced}
          onClose={close}
          onDecided={() => {
            setDetailsId(null)
            markDecided()
          }}
          onUncertain={reread}
          onCloseAutoFocus={focusNext}
        >
          {fieldsOf?.(open.row, open.action, start)}
        </DecisionDialog>
      ) : null}
    </>
  )
}
