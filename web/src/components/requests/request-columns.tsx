import type { ColumnDef } from '@tanstack/react-table'
import { Ellipsis } from 'lucide-react'
import type { ReactNode } from 'react'
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
import { Tooltip } from '@/components/ui/tooltip'
import { zoneName } from '@/lib/dates'
import { compare } from '@/lib/money'
import { movedNothing, shownStatus } from '@/lib/movement'
import type { RequestNoun } from '@/lib/request-changes'
import { offlineText, useOnline } from '@/lib/use-online'
import { Due } from './due'
import type { DecisionAction, MoneyRequest, RequestActs } from './request'
import { decidedText } from './texts'

const words = { approve: 'Approve', reject: 'Reject' }

interface RequestColumnsProps<Row extends MoneyRequest> {
  noun: RequestNoun
  acts: RequestActs<Row>
  /** Why this row cannot be approved, though the role may decide. */
  blocked?: (row: Row) => string | null
  /** More entries of the row's menu. */
  menu?: (row: Row) => ReactNode
  /** What is left to do with a decided row. */
  act?: (row: Row) => ReactNode
}

/** Why a row cannot be decided here and now; null when it can. */
function hindrance<Row extends MoneyRequest>(
  { acts, blocked }: RequestColumnsProps<Row>,
  row: Row,
  action: DecisionAction,
  online: boolean,
): string | null {
  if (row.decidedMeanwhile && row.status !== 'pending')
    return `Already ${decidedText({ ...row, status: row.status })}`
  if (acts.forbidden !== null) return acts.forbidden
  if (!online) return offlineText
  return action === 'approve' ? (blocked?.(row) ?? null) : null
}

function DecisionButton<Row extends MoneyRequest>(
  props: RequestColumnsProps<Row> & { row: Row; action: keyof typeof words },
) {
  const { noun, acts, row, action } = props
  const reason = hindrance(props, row, action, useOnline())
  // One and the same button, whatever hinders it: it may have the focus.
  return (
    <Tooltip content={reason}>
      <Button
        variant="outline"
        size="row"
        className="max-md:grow"
        data-decision={action === 'approve' && row.status === 'pending' ? '' : undefined}
        aria-disabled={reason !== null}
        aria-label={`${words[action]} the ${noun} of ${row.username}`}
        aria-description={reason ?? undefined}
        onClick={() => acts.onDecide(row, action)}
      >
        {words[action]}
      </Button>
    </Tooltip>
  )
}

function Actions<Row extends MoneyRequest>(props: RequestColumnsProps<Row> & { row: Row }) {
  const { noun, acts, row, menu, act } = props
  return (
    <div className="flex w-full items-center justify-end gap-1.5">
      {/* Decided meanwhile, they stay where they are: somebody may be about to press one. */}
      {row.status === 'pending' || row.decidedMeanwhile ? (
        <>
          <DecisionButton {...props} action="approve" />
          <DecisionButton {...props} action="reject" />
        </>
      ) : (
        <>
          {act?.(row)}
          <Button variant="link" size="row" className="max-md:grow" onClick={() => acts.onDetails(row)}>
            Details
          </Button>
        </>
      )}
      <DropdownMenu>
        <DropdownMenuTrigger asChild>
          <Button variant="ghost" size="row" aria-label={`More about the ${noun} of ${row.username}`}>
            <Ellipsis aria-hidden />
          </Button>
        </DropdownMenuTrigger>
        <DropdownMenuContent>
          <DropdownMenuItem onSelect={() => acts.onDetails(row)}>Details</DropdownMenuItem>
          {menu?.(row)}
        </DropdownMenuContent>
      </DropdownMenu>
    </div>
  )
}

/** What arrived of an approved deposit, where it was another amount. */
function Arrived({ row: { amount, received_amount: received } }: { row: MoneyRequest }) {
  if (!received || compare(received, amount) === 0) return null
  return (
    <span className="text-caption font-normal whitespace-nowrap text-muted-foreground">
      <Money value={received} /> arrived
    </span>
  )
}

/** When it was asked for, and while it waits until when it is due. */
function Requested({ row }: { row: MoneyRequest }) {
  return (
    <span className="flex flex-wrap gap-x-2 py-1 md:flex-col md:leading-tight">
      <Timestamp value={row.created_at} exact />
      {row.status === 'pending' ? (
        <span className="text-caption whitespace-nowrap text-muted-foreground">
          <Due at={row.due_at} />
        </span>
      ) : null}
    </span>
  )
}

/** The columns that both lists have; each list puts its own between the first three and the rest. */
export function requestColumns<Row extends MoneyRequest>(props: RequestColumnsProps<Row>) {
  const first: ColumnDef<Row>[] = [
    {
      id: 'user',
      header: 'User',
      meta: { label: 'User', sort: 'username', phone: 'title', fixed: true },
      enableHiding: false,
      cell: ({ row: { original } }) => (
        <button
          type="button"
          title={original.username}
          onClick={() => props.acts.onDetails(original)}
          className="max-w-[24ch] truncate rounded-mark font-semibold text-primary hover:underline md:max-w-[14ch] 2xl:max-w-[24ch]"
        >
          {original.username}
        </button>
      ),
    },
    {
      id: 'amount',
      header: 'Amount',
      meta: { label: 'Amount', align: 'right', sort: 'amount', phone: 'amount' },
      cell: ({ row: { original } }) => (
        <span className="inline-flex flex-col items-end md:leading-tight">
          <Money
            value={original.amount}
            className={movedNothing(original) ? 'text-muted-foreground' : 'font-semibold'}
          />
          <Arrived row={original} />
        </span>
      ),
    },
    {
      id: 'available_balance',
      header: 'Available Balance',
      meta: { label: 'Available Balance', align: 'right', phone: 'hidden', spare: 2 },
      cell: ({ row: { original } }) => <Money value={original.available_balance} />,
    },
  ]
  const last: ColumnDef<Row>[] = [
    {
      id: 'status',
      header: 'Status',
      meta: { label: 'Status', phone: 'status', spare: 6 },
      cell: ({ row: { original } }) => (
        <StatusBadge status={original.voided_at ? 'voided' : shownStatus(original)} />
      ),
    },
    {
      id: 'created_at',
      header: `Date, ${zoneName(new Date())}`,
      meta: { label: 'Date', sort: 'created_at', phone: 'date' },
      cell: ({ row: { original } }) => <Requested row={original} />,
    },
    {
      id: 'actions',
      header: () => <span className="block text-right">Actions</span>,
      meta: { label: 'Actions', phone: 'actions', align: 'right', fixed: true },
      enableHiding: false,
      cell: ({ row: { original } }) => <Actions {...props} row={original} />,
    },
  ]
  return { first, last }
}
