import { Download, X } from 'lucide-react'
import { useId, useState } from 'react'
import { ErrorLine } from '@/components/field'
import { Button } from '@/components/ui/button'
import { Input } from '@/components/ui/input'
import { Label } from '@/components/ui/label'
import { Select, SelectContent, SelectItem, SelectTrigger, SelectValue } from '@/components/ui/select'
import { saveText, toCsv } from '@/lib/csv'
import type { HistoryItem } from '@/lib/member'
import { collectHistory, type HistoryFilters } from './api'
import { statuses, types, type useHistoryFilters } from './use-history-filters'

// Radix keeps the empty text for "nothing chosen".
const everything = 'all'

interface ChoiceProps {
  label: string
  all: string
  value: string
  options: { value: string; label: string }[]
  onChange: (value: string) => void
}

function Choice({ label, all, value, options, onChange }: ChoiceProps) {
  const id = useId()
  return (
    <div className="flex min-w-0 grow basis-36 flex-col gap-1 sm:grow-0 sm:basis-44">
      <Label htmlFor={id} className="text-compact">
        {label}
      </Label>
      <Select value={value || everything} onValueChange={(next) => onChange(next === everything ? '' : next)}>
        <SelectTrigger id={id} className="w-full">
          <SelectValue />
        </SelectTrigger>
        <SelectContent>
          <SelectItem value={everything}>{all}</SelectItem>
          {options.map((option) => (
            <SelectItem key={option.value} value={option.value}>
              {option.label}
            </SelectItem>
          ))}
        </SelectContent>
      </Select>
    </div>
  )
}

interface DayProps {
  label: string
  value: string
  min?: string
  max?: string
  onChange: (value: string) => void
}

function Day({ label, value, min, max, onChange }: DayProps) {
  const id = useId()
  return (
    <div className="flex min-w-0 grow basis-36 flex-col gap-1 sm:grow-0 sm:basis-44">
      <Label htmlFor={id} className="text-compact">
        {label}
      </Label>
      <Input
        id={id}
        type="date"
        value={value}
        min={min}
        max={max}
        onChange={(event) => onChange(event.target.value)}
      />
    </div>
  )
}

/** Filters of the history and the file of what they leave. */
export function HistoryToolbar({ table }: { table: ReturnType<typeof useHistoryFilters> }) {
  const { filters, filtered, set, clear } = table
  return (
    <div role="search" aria-label="Filter transactions" className="flex flex-wrap items-end gap-3">
      <Choice
        label="Type"
        all="All Types"
        value={filters.type}
        options={types}
        onChange={(value) => set('type', value)}
      />
      <Choice
        label="Status"
        all="All Status"
        value={filters.status}
        options={statuses}
        onChange={(value) => set('status', value)}
      />
      <Day
        label="From, UTC"
        value={filters.from}
        max={filters.to || undefined}
        onChange={(value) => set('from', value)}
      />
      <Day
        label="To, UTC"
        value={filters.to}
        min={filters.from || undefined}
        onChange={(value) => set('to', value)}
      />
      {filtered ? (
        <Button variant="ghost" onClick={clear}>
          <X aria-hidden />
          Clear filters
        </Button>
      ) : null}
      <div className="sm:ml-auto">
        <ExportCsv filters={filters} />
      </div>
    </div>
  )
}

const head = ['created_at', 'type', 'amount_usd', 'status', 'from_or_to', 'pair', 'reference', 'reason', 'id']

function line(item: HistoryItem): string[] {
  return [
    new Date(item.created_at).toISOString(),
    item.transaction_type,
    item.amount,
    item.status,
    item.wallet_address ?? item.counterparty ?? '',
    item.pair_number === null ? '' : String(item.pair_number),
    item.reference ?? item.payout_reference ?? '',
    item.admin_notes ?? '',
    item.id,
  ]
}

function ExportCsv({ filters }: { filters: HistoryFilters }) {
  const [rows, setRows] = useState<number | null>(null)
  const [failed, setFailed] = useState(false)

  async function run() {
    setFailed(false)
    setRows(0)
    try {
      const items = await collectHistory(filters, setRows)
      saveText(
        toCsv(head, items.map(line)),
        `transactions-${new Date().toISOString().slice(0, 10)}.csv`,
        'text/csv',
      )
    } catch (error) {
      console.error(error)
      setFailed(true)
    } finally {
      setRows(null)
    }
  }

  return (
    <>
      <Button variant="outline" busy={rows !== null && `${rows} rows`} onClick={() => void run()}>
        <Download aria-hidden />
        Export CSV
      </Button>
      <div role="alert">
        {failed ? <ErrorLine className="mt-1">The export failed. Please try again.</ErrorLine> : null}
      </div>
    </>
  )
}
