import type { Table } from '@tanstack/react-table'
import { Columns3, Download, Rows3, X } from 'lucide-react'
import { useState } from 'react'
import { Button } from '@/components/ui/button'
import {
  DropdownMenu,
  DropdownMenuCheckboxItem,
  DropdownMenuContent,
  DropdownMenuRadioGroup,
  DropdownMenuRadioItem,
  DropdownMenuTrigger,
} from '@/components/ui/dropdown-menu'
import { Input } from '@/components/ui/input'
import { Select, SelectContent, SelectItem, SelectTrigger, SelectValue } from '@/components/ui/select'
import type { Density } from './preferences'
import { SearchBox } from './search-box'
import type { TableController } from './table-state'
import type { TableFilter } from './types'

interface FilterProps {
  label: string
  value: string
  onChange: (value: string) => void
}

function Choice({ label, value, options, onChange }: FilterProps & Required<Pick<TableFilter, 'options'>>) {
  return (
    <Select value={value} onValueChange={onChange}>
      <SelectTrigger data-size="compact" aria-label={label} className="w-auto min-w-36 grow md:grow-0">
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
  )
}

function Day({ label, value, onChange }: FilterProps) {
  return (
    <label className="flex grow items-center gap-2 text-compact whitespace-nowrap md:grow-0">
      {label}
      <Input
        type="date"
        value={value === 'all' ? '' : value}
        onChange={(event) => onChange(event.target.value || 'all')}
        className="h-9 w-auto grow md:text-compact pointer-coarse:h-11"
      />
    </label>
  )
}

function Filters({ filters, table }: { filters: TableFilter[]; table: TableController }) {
  return filters.map(({ key, label, options }) => {
    const value = table.state.filters[key] ?? 'all'
    const onChange = (chosen: string) => table.change({ filters: { [key]: chosen } })
    return options ? (
      <Choice key={key} {...{ label, value, options, onChange }} />
    ) : (
      <Day key={key} {...{ label, value, onChange }} />
    )
  })
}

export function FilterChips({ filters, table }: { filters: TableFilter[]; table: TableController }) {
  const chips = filters
    .map((filter) => ({ filter, value: table.state.filters[filter.key] ?? 'all' }))
    .filter(({ value }) => value !== 'all')
    .map(({ filter, value }) => ({
      key: filter.key,
      text: `${filter.label}: ${filter.options?.find((option) => option.value === value)?.label ?? value}`,
      remove: () => table.change({ filters: { [filter.key]: 'all' } }),
    }))
  if (table.state.search) {
    chips.push({
      key: 'q',
      text: `Search: ${table.state.search}`,
      remove: () => table.change({ search: '' }),
    })
  }
  if (chips.length === 0) return null
  return (
    <ul aria-label="Filters" className="flex flex-wrap gap-2">
      {chips.map((chip) => (
        <li key={chip.key}>
          <Button
            variant="outline"
            size="row"
            onClick={chip.remove}
            aria-label={`Remove filter ${chip.text}`}
          >
            {chip.text}
            <X aria-hidden />
          </Button>
        </li>
      ))}
    </ul>
  )
}

function ExportButton({ onExport }: { onExport: (progress: (rows: number) => void) => Promise<void> }) {
  const [rows, setRows] = useState<number | null>(null)
  async function run(): Promise<void> {
    setRows(0)
    try {
      await onExport(setRows)
    } finally {
      setRows(null)
    }
  }
  return (
    <Button
      variant="outline"
      size="compact"
      busy={rows === null ? null : `${rows.toLocaleString('en-US')} rows`}
      onClick={() => void run()}
    >
      <Download aria-hidden />
      Export CSV
    </Button>
  )
}

interface ToolbarProps<T> {
  view: Table<T>
  table: TableController
  count: string
  searchLabel?: string
  filters: TableFilter[]
  density: Density
  onDensity: (density: Density) => void
  onExport?: (progress: (rows: number) => void) => Promise<void>
  wide: boolean
}

export function Toolbar<T>(props: ToolbarProps<T>) {
  const { view, table, count, searchLabel, filters, density, onDensity, onExport, wide } = props
  return (
    <div className="flex flex-wrap items-center gap-3">
      {searchLabel ? (
        <SearchBox
          label={searchLabel}
          value={table.state.search}
          onSearch={(search) => table.change({ search }, { replace: true })}
        />
      ) : null}
      <Filters filters={filters} table={table} />
      <div className="flex flex-wrap items-center gap-3 md:ml-auto">
        <p role="status" className="tabular text-compact text-muted-foreground">
          {count}
        </p>
        {onExport ? <ExportButton onExport={onExport} /> : null}
        {wide ? (
          <>
            <DropdownMenu>
              <DropdownMenuTrigger asChild>
                <Button variant="outline" size="compact">
                  <Rows3 aria-hidden />
                  Density
                </Button>
              </DropdownMenuTrigger>
              <DropdownMenuContent>
                <DropdownMenuRadioGroup
                  value={density}
                  onValueChange={(value) => onDensity(value as Density)}
                >
                  <DropdownMenuRadioItem value="compact">Compact</DropdownMenuRadioItem>
                  <DropdownMenuRadioItem value="comfortable">Comfortable</DropdownMenuRadioItem>
                </DropdownMenuRadioGroup>
              </DropdownMenuContent>
            </DropdownMenu>
            <DropdownMenu>
              <DropdownMenuTrigger asChild>
                <Button variant="outline" size="compact">
                  <Columns3 aria-hidden />
                  Columns
                </Button>
              </DropdownMenuTrigger>
              <DropdownMenuContent>
                {view
                  .getAllLeafColumns()
                  .filter((column) => column.getCanHide())
                  .map((column) => (
                    <DropdownMenuCheckboxItem
                      key={column.id}
                      checked={column.getIsVisible()}
                      onCheckedChange={(shown) => column.toggleVisibility(shown)}
                      onSelect={(event) => event.preventDefault()}
                    >
                      {column.columnDef.meta?.label ?? column.id}
                    </DropdownMenuCheckboxItem>
                  ))}
              </DropdownMenuContent>
            </DropdownMenu>
          </>
        ) : null}
      </div>
    </div>
  )
}
