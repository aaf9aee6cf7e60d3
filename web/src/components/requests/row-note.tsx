import { Timestamp } from '@/components/timestamp'
import { RequestFlags } from './decision-dialog'
import type { MoneyRequest } from './request'
import { decidedText } from './texts'

/** The line under a row: what somebody else decided meanwhile, else what stands out. */
export function RowNote({ row }: { row: MoneyRequest }) {
  if (!row.decidedMeanwhile || row.status === 'pending' || row.decided_at === null)
    return <RequestFlags flags={row.flags} />
  const text = decidedText({ ...row, status: row.status })
  return (
    <p role="status" className="text-foreground">
      {text.charAt(0).toUpperCase() + text.slice(1)} <Timestamp value={row.decided_at} />
    </p>
  )
}
