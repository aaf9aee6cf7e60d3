import { useQuery } from '@tanstack/react-query'
import { ArrowLeft, Printer } from 'lucide-react'
import { useId } from 'react'
import { Link } from 'react-router'
import { PageBody } from '@/components/page-body'
import { PageHead } from '@/components/page-head'
import { Region } from '@/components/region'
import { Button } from '@/components/ui/button'
import { Label } from '@/components/ui/label'
import { Select, SelectContent, SelectItem, SelectTrigger, SelectValue } from '@/components/ui/select'
import { Skeleton } from '@/components/ui/skeleton'
import { toCsv } from '@/lib/csv'
import type { MemberProfile } from '@/lib/member'
import { isNegative } from '@/lib/money'
import { paths } from '@/lib/paths'
import { collectStatement, statementQuery, type Statement, type StatementRow } from './api'
import { CsvButton } from './csv-button'
import { monthName, utcDay } from './periods'
import { PrintedHead } from './printed-head'
import { StatementFigures } from './statement-figures'
import { StatementRows } from './statement-rows'

interface StatementPageProps {
  month: string
  /** Of which there are statements, newest first. */
  months: string[]
  profile: MemberProfile | undefined
  onMonth: (month: string) => void
}

/** A month of the withdrawable balance, for the screen, for paper and as a file. */
export function StatementPage({ month, months, profile, onMonth }: StatementPageProps) {
  const query = useQuery(statementQuery(month))
  return (
    <PageBody className="flex flex-col gap-6 print:py-0">
      <Link
        to={paths.transactions}
        data-print="no"
        className="-mb-3 inline-flex min-h-6 items-center gap-1.5 self-start rounded-mark text-compact font-semibold text-primary hover:underline pointer-coarse:min-h-11"
      >
        <ArrowLeft className="size-4" aria-hidden />
        All transactions
      </Link>
      <PageHead
        title={`Statement, ${monthName(month)}`}
        purpose={query.data ? <Days statement={query.data} /> : null}
        actions={<Actions month={month} />}
      />
      <PrintedHead profile={profile} />
      {months.length > 1 ? <MonthChoice month={month} months={months} onMonth={onMonth} /> : null}
      <Region
        query={query}
        errorText="Failed to load transactions"
        loadingText="Loading the statement"
        skeleton={<Skeleton className="h-96 w-full rounded-card" />}
      >
        {(statement) => (
          <>
            <StatementFigures statement={statement} />
            <section aria-label="Movements" className="card-box">
              <StatementRows statement={statement} />
              <Notes statement={statement} />
            </section>
          </>
        )}
      </Region>
    </PageBody>
  )
}

function Days({ statement: { from, to, running } }: { statement: Statement }) {
  return (
    <>
      {utcDay(from)} to {utcDay(to)}, UTC days{running ? ', so far' : ''}. Movements stand at the time when
      they took effect.
    </>
  )
}

const head = [
  'took_effect_at',
  'type',
  'change',
  'from_or_to',
  'pair',
  'reference',
  'amount_usd',
  'in_balance',
  'balance_after_usd',
  'id',
]

function line(row: StatementRow): string[] {
  return [
    new Date(row.at).toISOString(),
    row.type,
    row.raised ? (isNegative(row.amount) ? 'lowered' : 'raised') : '',
    row.wallet_address ?? row.counterparty ?? '',
    row.pair_number === null ? '' : String(row.pair_number),
    row.reference ?? '',
    row.amount,
    row.in_balance ? 'yes' : 'no',
    row.balance_after,
    row.id,
  ]
}

function Actions({ month }: { month: string }) {
  return (
    <>
      <CsvButton
        label="Download CSV"
        file={`statement-${month}`}
        make={async (onProgress) => toCsv(head, (await collectStatement(month, onProgress)).map(line))}
      />
      <Button data-print="no" variant="outline" onClick={() => print()}>
        <Printer aria-hidden />
        Print
      </Button>
    </>
  )
}

function MonthChoice({ month, months, onMonth }: Omit<StatementPageProps, 'profile'>) {
  const id = useId()
  return (
    <div data-print="no" className="flex w-56 flex-col gap-1">
      <Label htmlFor={id} className="text-compact">
        Month
      </Label>
      <Select value={month} onValueChange={onMonth}>
        <SelectTrigger id={id} className="w-full">
          <SelectValue />
        </SelectTrigger>
        <SelectContent>
          {months.map((one) => (
            <SelectItem key={one} value={one}>
              {monthName(one)}
            </SelectItem>
          ))}
        </SelectContent>
      </Select>
    </div>
  )
}

function Notes({ statement: { rows, total, closing } }: { statement: Statement }) {
  return (
    <p className="mt-4 text-compact text-muted-foreground">
      {rows.length < total
        ? `The first ${rows.length} of ${total.toLocaleString('en-US')} movements; the CSV file has all of them. `
        : null}
      {isNegative(closing)
        ? 'The balance is below zero after a correction: nothing can be withdrawn until new bonuses make up for it. '
        : null}
      The balance is what can be withdrawn: bonuses less approved withdrawals. Deposits are listed and do not
      change it.
    </p>
  )
}
