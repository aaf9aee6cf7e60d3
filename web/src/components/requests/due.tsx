import { CircleAlert } from 'lucide-react'
import { formatDue } from '@/lib/dates'
import { useNow } from '@/lib/use-now'

/** Until when a request should be decided: "due in 14 h", "overdue by 3 h". */
export function Due({ at }: { at: string }) {
  const { text, overdue } = formatDue(new Date(at), useNow())
  return overdue ? (
    <span className="inline-flex items-center gap-1 text-destructive">
      <CircleAlert className="size-3.5" aria-hidden />
      {text}
    </span>
  ) : (
    text
  )
}
