import { EmptyState } from '@/components/empty-state'
import { Address } from '@/components/address'
import { Money } from '@/components/money'
import { Reference } from '@/components/reference'
import { Table, TableCell, TableHead, TableRow } from '@/components/ui/table'
import { isNegative } from '@/lib/money'
import type { Statement, StatementRow } from './api'
import { utcDay } from './periods'

const titles: Record<string, string> = {
  correction: 'Withdrawal not paid, returned',
  'deposit correction': 'Deposit that no longer counts',
}

function title(row: StatementRow): string {
  const name = titles[row.type] ?? row.type.charAt(0).toUpperCase() + row.type.slice(1)
  if (!row.raised) return name
  return `${name}, ${isNegative(row.amount) ? 'lowered' : 'raised'}`
}

function Party({ row }: { row: StatementRow }) {
  const pair = row.pair_number === null ? '' : `, pair ${row.pair_number}`
  return (
    <>
      {row.counterparty ? `${row.counterparty}${pair}` : null}
      {row.wallet_address ? (
        <>
          to <Address value={row.wallet_address} short />
        </>
      ) : null}
      {row.wallet_address && row.reference ? ', paid with ' : null}
      {row.reference ? <Reference value={row.reference} short className="align-bottom" /> : null}
      {row.in_balance ? null : <span className="block">Not part of the balance</span>}
    </>
  )
}

/** What took effect in the month, oldest first, each with the balance after it. */
export function StatementRows({ statement }: { statement: Statement }) {
  if (statement.rows.length === 0)
    return <EmptyState drawing="mooring" title="No movements" text="Nothing took effect in this month." />
  return (
    <Table aria-label="Movements">
      <thead>
        <tr>
          <TableHead className="w-36 max-md:hidden">Date, UTC</TableHead>
          <TableHead>Movement</TableHead>
          <TableHead data-align="right">Amount</TableHead>
          <TableHead data-align="right">Balance</TableHead>
        </tr>
      </thead>
      <tbody>
        {statement.rows.map((row) => (
          <TableRow key={row.id} className="print:break-inside-avoid">
            <TableCell className="whitespace-nowrap text-muted-foreground max-md:hidden">
              <time dateTime={row.at} className="tabular">
                {utcDay(row.at)}
              </time>
            </TableCell>
            <TableCell>
              <span className="font-semibold">{title(row)}</span>
              <span className="block text-compact text-muted-foreground">
                <span className="block md:hidden">{utcDay(row.at)}</span>
                <Party row={row} />
              </span>
            </TableCell>
            <TableCell
              data-align="right"
              className={row.in_balance ? 'font-semibold' : 'text-muted-foreground'}
            >
              <Money value={row.amount} signed />
            </TableCell>
            <TableCell data-align="right">
              <Money value={row.balance_after} />
            </TableCell>
          </TableRow>
        ))}
      </tbody>
    </Table>
  )
}
