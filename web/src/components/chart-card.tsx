import { Table2 } from 'lucide-react'
import { useState, type ReactNode } from 'react'
import { cn } from '@/lib/cn'
import { Button } from './ui/button'
import { Segmented } from './ui/segmented'
import { Table, TableCell, TableHead, TableRow } from './ui/table'

export type ChartRange = '30d' | '90d' | '12m' | 'all'

const ranges: { value: ChartRange; label: string }[] = [
  { value: '30d', label: '30 d' },
  { value: '90d', label: '90 d' },
  { value: '12m', label: '12 m' },
  { value: 'all', label: 'All' },
]

interface ChartSeries {
  label: string
  /** A token, such as 'var(--chart-1)'. */
  colour: string
  /** The total, printed beside the name. */
  value?: ReactNode
}

/** Colour, name and total of each series, printed above the chart. */
function ChartKey({ series }: { series: ChartSeries[] }) {
  return (
    <ul className="flex flex-wrap gap-x-5 gap-y-1 text-compact">
      {series.map(({ label, colour, value }) => (
        <li key={label} className="flex items-center gap-2">
          <span aria-hidden className="size-3 rounded-mark" style={{ background: colour }} />
          <span className="text-muted-foreground">{label}</span>
          {value ? <span className="tabular font-semibold">{value}</span> : null}
        </li>
      ))}
    </ul>
  )
}

interface ChartCardProps {
  title: string
  /** Period and total in words; also what a screen reader is told instead of the picture. */
  summary: ReactNode
  series?: ChartSeries[]
  range?: ChartRange
  onRange?: (range: ChartRange) => void
  /** The ranges there are rows for; all of them by default. */
  offered?: readonly ChartRange[]
  /** The same numbers, row by row; the first column names the row. */
  table: { head: string[]; rows: ReactNode[][] }
  className?: string
  children: ReactNode
}

export function ChartCard({
  title,
  summary,
  series,
  range,
  onRange,
  offered,
  table,
  className,
  children,
}: ChartCardProps) {
  const [asTable, setAsTable] = useState(false)
  return (
    <section aria-label={title} className={cn('card-box flex min-w-0 flex-col gap-4', className)}>
      <div className="flex flex-wrap items-start justify-between gap-x-6 gap-y-3">
        <div className="min-w-0 grow basis-60">
          <h2 className="text-section">{title}</h2>
          <p className="tabular text-compact text-muted-foreground">{summary}</p>
        </div>
        {range && onRange ? (
          <Segmented
            label="Range"
            value={range}
            options={offered ? ranges.filter((one) => offered.includes(one.value)) : ranges}
            onChange={onRange}
          />
        ) : null}
      </div>
      {series ? <ChartKey series={series} /> : null}
      {asTable ? (
        <div className="max-h-80 overflow-y-auto">
          <Table>
            <thead>
              <tr>
                {table.head.map((name, index) => (
                  <TableHead key={name} data-align={index > 0 ? 'right' : undefined}>
                    {name}
                  </TableHead>
                ))}
              </tr>
            </thead>
            <tbody>
              {table.rows.map((row, index) => (
                <TableRow key={index}>
                  {row.map((cell, column) => (
                    <TableCell key={column} data-align={column > 0 ? 'right' : undefined} className="h-10">
                      {cell}
                    </TableCell>
                  ))}
                </TableRow>
              ))}
            </tbody>
          </Table>
        </div>
      ) : (
        children
      )}
      <Button
        variant="link"
        size="text"
        className="self-start"
        aria-pressed={asTable}
        onClick={() => setAsTable(!asTable)}
      >
        <Table2 aria-hidden />
        {asTable ? 'Show as chart' : 'Show as table'}
      </Button>
    </section>
  )
}
