import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { EmptyState } from '@/components/empty-state'
import { PageBody } from '@/components/page-body'
import { PageHead } from '@/components/page-head'
import { Region } from '@/components/region'
import { Button } from '@/components/ui/button'
import { Skeleton } from '@/components/ui/skeleton'
import { memberQuery, type HistoryItem } from '@/lib/member'
import { useNow } from '@/lib/use-now'
import { historyQuery } from './api'
import { HistoryActions } from './history-actions'
import { HistoryDetails } from './history-details'
import { HistoryList, itemKey } from './history-list'
import { HistoryToolbar } from './history-toolbar'
import { MonthFigures } from './month-figures'
import { monthsBetween } from './periods'
import { PrintedHead } from './printed-head'
import { StatementPage } from './statement-page'
import { useHistoryFilters } from './use-history-filters'

/** Every movement of the member's money in one list, newest first, or the statement of a month. */
export function TransactionsPage() {
  const table = useHistoryFilters()
  const member = useQuery(memberQuery)
  const now = useNow()
  const months = member.data ? monthsBetween(new Date(member.data.profile.created_at), now) : []
  if (table.statement)
    return (
      <StatementPage
        key={table.statement}
        month={table.statement}
        months={months}
        profile={member.data?.profile}
        onMonth={(month) => table.set('statement', month)}
      />
    )
  return <History table={table} months={months} />
}

interface HistoryProps {
  table: ReturnType<typeof useHistoryFilters>
  months: string[]
}

function History({ table, months }: HistoryProps) {
  const query = useInfiniteQuery({ ...historyQuery(table.filters), placeholderData: keepPreviousData })
  const member = useQuery(memberQuery)
  // The running month is known before the member is.
  const now = useNow()
  const [month] = monthsBetween(now, now)
  const items = query.data?.pages.flatMap((page) => page.items) ?? []
  const open = [...items, ...(member.data?.latest ?? [])].find((item) => itemKey(item) === table.item)
  return (
    <PageBody className="flex flex-col gap-6 print:py-0">
      <PageHead
        title="Transactions"
        purpose="Every movement of your money, newest first."
        actions={
          <HistoryActions
            filters={table.filters}
            months={months}
            onStatement={(month) => table.set('statement', month)}
          />
        }
      />
      <PrintedHead profile={member.data?.profile} filters={table.filters} />
      {month ? <MonthFigures month={month} balance={member.data?.balance} /> : null}
      <HistoryToolbar table={table} />
      <Region
        query={query}
        errorText="Failed to load transactions"
        loadingText="Loading transactions"
        skeleton={<ListSkeleton />}
        isEmpty={() => items.length === 0}
        empty={<Empty filtered={table.filtered} onClear={table.clear} />}
      >
        {() => (
          <section aria-label="Transactions" aria-busy={query.isPlaceholderData} className="card-box">
            <HistoryList
              items={items}
              whole={table.filtered ? 'none' : query.hasNextPage ? 'but the last' : 'all'}
              onOpen={(item: HistoryItem) => table.set('item', itemKey(item))}
            />
            <p role="status" className="sr-only">
              {items.length} transactions shown
            </p>
            {query.hasNextPage ? (
              <Button
                data-print="no"
                variant="outline"
                className="mt-4"
                busy={query.isFetchingNextPage && 'Loading'}
                onClick={() => void query.fetchNextPage()}
              >
                Show 25 more
              </Button>
            ) : null}
            <p className="mt-4 text-compact text-muted-foreground">
              {items.length} transaction{items.length === 1 ? '' : 's'}
              {query.hasNextPage ? ' shown, there are more. ' : ', all shown. '}
              Balance after is your withdrawable balance: bonuses less approved withdrawals. Deposits count as
              cash-in and do not change it. A pending withdrawal is reserved, not yet taken.
            </p>
          </section>
        )}
      </Region>
      {open ? <HistoryDetails item={open} onClose={() => table.set('item', '')} /> : null}
    </PageBody>
  )
}

function Empty({ filtered, onClear }: { filtered: boolean; onClear: () => void }) {
  if (!filtered)
    return (
      <EmptyState drawing="mooring" title="No transactions yet" text="Your first one will appear here." />
    )
  return (
    <EmptyState
      drawing="ledger"
      title="No transactions found"
      text="Change or clear the filters."
      action={
        <Button variant="outline" onClick={onClear}>
          Clear filters
        </Button>
      }
    />
  )
}

function ListSkeleton() {
  return (
    <div className="card-box flex flex-col gap-4">
      {Array.from({ length: 8 }, (_, index) => (
        <div
          key={index}
          className="flex items-center justify-between gap-6 border-b pb-4 last:border-b-0 last:pb-0"
        >
          <Skeleton className="w-24" />
          <Skeleton className="w-40" />
          <Skeleton className="w-20" />
        </div>
      ))}
    </div>
  )
}
