import { FileText, Printer } from 'lucide-react'
import { Button } from '@/components/ui/button'
import {
  DropdownMenu,
  DropdownMenuContent,
  DropdownMenuItem,
  DropdownMenuTrigger,
} from '@/components/ui/dropdown-menu'
import { toCsv } from '@/lib/csv'
import { shownStatus } from '@/lib/movement'
import { collectHistory, type HistoryFilters, type Movement } from './api'
import { CsvButton } from './csv-button'
import { monthName } from './periods'

const head = [
  'effective_at',
  'created_at',
  'type',
  'amount_usd',
  'status',
  'from_or_to',
  'pair',
  'reference',
  'reason',
  'id',
  'balance_after_usd',
]

function line(item: Movement): string[] {
  return [
    new Date(item.effective_at).toISOString(),
    new Date(item.created_at).toISOString(),
    item.transaction_type,
    item.amount,
    shownStatus(item),
    item.wallet_address ?? item.counterparty ?? '',
    item.pair_number === null ? '' : String(item.pair_number),
    [item.reference ?? item.payout_reference ?? '', ...(item.further_references ?? [])].join(' '),
    item.admin_notes ?? '',
    item.id,
    item.balance_after,
  ]
}

interface HistoryActionsProps {
  filters: HistoryFilters
  /** Newest first. */
  months: string[]
  onStatement: (month: string) => void
}

/** What can be taken along: the rows as a file or on paper, and a month's statement. */
export function HistoryActions({ filters, months, onStatement }: HistoryActionsProps) {
  return (
    <>
      <CsvButton
        label="Export CSV"
        file={`transactions-${new Date().toISOString().slice(0, 10)}`}
        make={async (onProgress) => toCsv(head, (await collectHistory(filters, onProgress)).map(line))}
      />
      <Button data-print="no" variant="outline" className="max-md:hidden" onClick={() => print()}>
        <Printer aria-hidden />
        Print
      </Button>
      {months.length > 0 ? (
        <DropdownMenu>
          <DropdownMenuTrigger asChild>
            <Button data-print="no" variant="outline">
              <FileText aria-hidden />
              Statement
            </Button>
          </DropdownMenuTrigger>
          <DropdownMenuContent className="max-h-80 overflow-y-auto">
            {months.map((month) => (
              <DropdownMenuItem key={month} onSelect={() => onStatement(month)}>
                {monthName(month)}
              </DropdownMenuItem>
            ))}
          </DropdownMenuContent>
        </DropdownMenu>
      ) : null}
    </>
  )
}
