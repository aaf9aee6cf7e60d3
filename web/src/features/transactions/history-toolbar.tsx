import { X } from 'lucide-react'
import { useId } from 'react'
import { Button } from '@/components/ui/button'
import { Input } from '@/components/ui/input'
import { Label } from '@/components/ui/label'
import { Select, SelectContent, SelectItem, SelectTrigger, SelectValue } from '@/components/ui/select'
import { useNow } from '@/lib/use-now'
import { presets, type Preset } from './periods'
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

/** Filters of the history. */
export function HistoryToolbar({ table }: { table: ReturnType<typeof useHistoryFilters> }) {
  const { filters, filtered, set, setPeriod, clear } = table
  const now = useNow()
  const chosen = (one: Preset) => one.from === filters.from && one.to === filters.to
  return (
    <div
      role="search"
      aria-label="Filter transactions"
      data-print="no"
      className="flex flex-wrap items-end gap-3"
    >
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
      <div role="group" aria-label="Period" className="flex basis-full flex-wrap gap-2">
        {presets(now).map((one) => (
          <Button
            key={one.label}
            variant="outline"
            size="compact"
            aria-pressed={chosen(one)}
            className="aria-pressed:bg-accent aria-pressed:text-accent-foreground"
            onClick={() => setPeriod(chosen(one) ? { from: '', to: '' } : one)}
          >
            {one.label}
          </Button>
        ))}
      </div>
      {filtered ? (
        <Button variant="ghost" onClick={clear}>
          <X aria-hidden />
          Clear filters
        </Button>
      ) : null}
    </div>
  )
}
