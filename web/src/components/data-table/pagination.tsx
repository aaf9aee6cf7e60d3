import { Button } from '@/components/ui/button'
import { Select, SelectContent, SelectItem, SelectTrigger, SelectValue } from '@/components/ui/select'
import { pageSizes, type TableController } from './table-state'

export function Pagination({ table, total }: { table: TableController; total: number }) {
  const { page, pageSize } = table.state
  const pages = Math.max(1, Math.ceil(total / pageSize))
  return (
    <nav aria-label="Pages" className="flex flex-wrap items-center justify-between gap-3 pt-4">
      <div className="tabular flex items-center gap-3 text-compact text-muted-foreground">
        <span>
          Page {page.toLocaleString('en-US')} of {pages.toLocaleString('en-US')}
        </span>
        <Select value={String(pageSize)} onValueChange={(size) => table.change({ pageSize: Number(size) })}>
          <SelectTrigger data-size="compact" aria-label="Rows per page" className="w-auto">
            <SelectValue />
          </SelectTrigger>
          <SelectContent>
            {pageSizes.map((size) => (
              <SelectItem key={size} value={String(size)}>
                {size} per page
              </SelectItem>
            ))}
          </SelectContent>
        </Select>
      </div>
      <div className="flex gap-2">
        <Button
          variant="outline"
          size="compact"
          aria-disabled={page <= 1}
          onClick={() => table.change({ page: page - 1 })}
        >
          Previous
        </Button>
        <Button
          variant="outline"
          size="compact"
          aria-disabled={page >= pages}
          onClick={() => table.change({ page: page + 1 })}
        >
          Next
        </Button>
      </div>
    </nav>
  )
}
