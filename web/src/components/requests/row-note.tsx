import { Hourglass } from 'lucide-react'
import { Timestamp } from '@/components/timestamp'
import { restText, type AskedRest } from '@/lib/deposit-rest'
import { RequestFlags } from './decision-dialog'
import type { MoneyRequest } from './request'
import { decidedText } from './texts'

/** What is missing of a deposit, and for whom it waits. */
export function RestNote({ rest }: { rest: AskedRest }) {
  const { asked_at: askedAt, asked_by_name: askedBy, referenced_at: referencedAt } = rest
  return (
    <span>
      {referencedAt ? (
        <>
          Reference of the rest received <Timestamp value={referencedAt} />:{' '}
        </>
      ) : (
        <>
          Rest asked for{askedBy ? ` by ${askedBy}` : ''} <Timestamp value={askedAt} />:{' '}
        </>
      )}
      {restText(rest)}
    </span>
  )
}

/** The line under a row: what somebody else decided meanwhile, else the rest that was asked for and what stands out. */
export function RowNote({ row }: { row: MoneyRequest }) {
  if (!row.decidedMeanwhile || row.status === 'pending' || row.decided_at === null)
    return (
      <div className="flex flex-wrap gap-x-4 gap-y-1">
        {row.rest ? (
          <span className="inline-flex items-start gap-1.5 text-foreground">
            <Hourglass className="mt-0.5 size-3.5 shrink-0 text-muted-foreground" aria-hidden />
            <RestNote rest={row.rest} />
          </span>
        ) : null}
        <RequestFlags flags={row.flags} />
      </div>
    )
  const text = decidedText({ ...row, status: row.status })
  return (
    <p role="status" className="text-foreground">
      {text.charAt(0).toUpperCase() + text.slice(1)} <Timestamp value={row.decided_at} />
    </p>
  )
}
