import type { UseQueryResult } from '@tanstack/react-query'
import { useEffect, useState, type ReactNode } from 'react'
import { formatTime } from '@/lib/dates'
import { errorText as sentence } from '@/lib/errors'
import { offlineSince, useOnline } from '@/lib/use-online'
import { EmptyState } from './empty-state'
import { Button } from './ui/button'

/** True once the time has passed since the component appeared. */
function usePassed(milliseconds: number): boolean {
  const [passed, setPassed] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setPassed(true), milliseconds)
    return () => clearTimeout(timer)
  }, [milliseconds])
  return passed
}

function Loading({ skeleton, label, onRetry }: { skeleton: ReactNode; label: string; onRetry: () => void }) {
  const visible = usePassed(150)
  const long = usePassed(8000)
  return (
    <div aria-busy>
      <span role="status" className="sr-only">
        {label}
      </span>
      <div className={visible ? undefined : 'invisible'}>{skeleton}</div>
      {long ? (
        <p className="mt-3 flex items-center justify-between gap-4 text-muted-foreground">
          Still loading
          <Button variant="outline" size="compact" onClick={onRetry}>
            Retry
          </Button>
        </p>
      ) : null}
    </div>
  )
}

function StaleLine({ updatedAt, onRetry }: { updatedAt: number; onRetry: () => void }) {
  const online = useOnline()
  return (
    <p role="status" className="mb-4 flex flex-wrap items-center gap-x-3 text-compact text-warning">
      {online ? `Could not refresh. Showing ${formatTime(new Date(updatedAt))}.` : offlineSince(updatedAt)}
      <Button variant="link" size="text" onClick={onRetry}>
        Retry
      </Button>
    </p>
  )
}

interface RegionProps<T> {
  query: UseQueryResult<T>
  /** In the final shape, so that nothing jumps. */
  skeleton: ReactNode
  /** Shown when loading failed (specification S25.6). */
  errorText: string
  /** Announced while loading, such as "Loading users...". */
  loadingText?: string
  isEmpty?: (data: T) => boolean
  empty?: ReactNode
  children: (data: T) => ReactNode
}

/** Loading, failed, out of date, empty or there: one part of a page, which fails alone. */
export function Region<T>(props: RegionProps<T>) {
  const { query, skeleton, errorText, loadingText = 'Loading', isEmpty, empty, children } = props
  const retry = () => void query.refetch()
  if (query.data === undefined) {
    if (query.isError) {
      return (
        <div role="alert">
          <EmptyState
            drawing="lamp"
            title={sentence(query.error, errorText)}
            text="We hide figures until we can load them correctly."
            action={
              <Button variant="outline" onClick={retry}>
                Retry
              </Button>
            }
          />
        </div>
      )
    }
    return <Loading skeleton={skeleton} label={loadingText} onRetry={retry} />
  }
  return (
    <>
      {query.isError ? <StaleLine updatedAt={query.dataUpdatedAt} onRetry={retry} /> : null}
      {isEmpty?.(query.data) ? empty : children(query.data)}
    </>
  )
}
