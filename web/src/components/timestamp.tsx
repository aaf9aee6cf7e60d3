import { describeMoment, formatExact, formatRelative } from '@/lib/dates'
import { useNow } from '@/lib/use-now'
import { cn } from '@/lib/cn'
import { Popover } from './ui/popover'

interface TimestampProps {
  /** ISO time. */
  value: string
  /** Prints date and time instead of "3 hours ago". */
  exact?: boolean
  className?: string
}

/** A moment. Hover, focus or tap tells the exact time, the zone and UTC. */
export function Timestamp({ value, exact = false, className }: TimestampProps) {
  const now = useNow()
  const moment = new Date(value)
  return (
    <Popover
      className="tabular w-auto"
      trigger={
        <button
          type="button"
          title={describeMoment(moment)}
          className={cn('tabular cursor-help rounded-mark text-left whitespace-nowrap', className)}
        >
          <time dateTime={value}>{exact ? formatExact(moment) : formatRelative(moment, now)}</time>
        </button>
      }
    >
      {() => describeMoment(moment)}
    </Popover>
  )
}
