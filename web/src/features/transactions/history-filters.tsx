import { Field } from '@/components/field'
import { Input } from '@/components/ui/input'
import { Select, SelectContent, SelectItem, SelectTrigger, SelectValue } from '@/components/ui/select'
import { statusOptions, typeOptions, type HistoryFilters } from './api'

interface Choice {
  label: string
  value: string
  options: { value: string; label: string }[]
  onChange: (value: string) => void
}

function Choice({ label, value, options, onChange }: Choice) {
  return (
    <Field label={label} className="min-w-0">
      {(control) => (
        <Select value={value} onValueChange={onChange}>
          <SelectTrigger {...control}>
            <SelectValue />
          </SelectTrigger>
          <SelectContent>
            {options.map((option) => (
              <SelectItem key={option.value} value={option.value}>
                {option.label}
              </SelectItem>
            ))}
          </SelectContent>
        </Select>
      )}
    </Field>
  )
}

interface HistoryFiltersProps {
  filters: HistoryFilters
  onChange: (name: keyof HistoryFilters, value: string) => void
}

/** Type, status and days. */
export function HistoryFilterBar({ filters, onChange }: HistoryFiltersProps) {
  return (
    <div role="group" aria-label="Filters" className="grid grid-cols-2 gap-3 lg:grid-cols-4">
      <Choice
        label="Type"
        value={filters.type}
        options={typeOptions}
        onChange={(value) => onChange('type', value)}
      />
      <Choice
        label="Status"
        value={filters.status}
        options={statusOptions}
        onChange={(value) => onChange('status', value)}
      />
      {(['from', 'to'] as const).map((name) => (
        <Field key={name} label={name === 'from' ? 'From' : 'To'} className="min-w-0">
          {(control) => (
            <Input
              {...control}
              type="date"
              value={filters[name]}
              onChange={(event) => onChange(name, event.target.value)}
            />
          )}
        </Field>
      ))}
    </div>
  )
}
