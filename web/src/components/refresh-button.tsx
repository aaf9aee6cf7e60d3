import type { UseQueryResult } from '@tanstack/react-query'
import { RefreshCw } from 'lucide-react'
import { formatTime } from '@/lib/dates'
import { Button } from './ui/button'

type Refreshable = Pick<UseQueryResult, 'dataUpdatedAt' | 'isRefetching' | 'refetch'>

/** When the page was read, and the way to read it again. */
export function RefreshButton({ queries }: { queries: Refreshable[] }) {
  const read = Math.max(...queries.map((query) => query.dataUpdatedAt))
  return (
    <span className="inline-flex items-center gap-3 whitespace-nowrap">
      {read > 0 ? (
        <span className="tabular text-compact text-muted-foreground">
          Updated {formatTime(new Date(read))}
        </span>
      ) : null}
      <Button
        variant="outline"
        size="compact"
        busy={queries.some((query) => query.isRefetching) && 'Refreshing...'}
        onClick={() => void Promise.all(queries.map((query) => query.refetch()))}
      >
        <RefreshCw aria-hidden />
        Refresh
      </Button>
    </span>
  )
}
