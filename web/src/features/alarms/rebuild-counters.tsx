import { useState } from 'react'
import { ReasonDialog } from '@/components/reason-dialog'
import { Button } from '@/components/ui/button'
import { toasts } from '@/lib/toast-queue'
import { useRebuildCounters } from './api'

function resultWords(count: number): string {
  if (count === 0) return 'Every counter was right.'
  return count === 1 ? 'One counter was wrong and is mended.' : `${count} counters were wrong and are mended.`
}

/** Adds all totals up again from the rows that they count; a reason says why. */
export function RebuildCounters() {
  const [open, setOpen] = useState(false)
  const rebuild = useRebuildCounters()
  const close = () => setOpen(false)
  return (
    <>
      <Button variant="outline" size="compact" onClick={() => setOpen(true)}>
        Rebuild counters
      </Button>
      {open ? (
        <ReasonDialog
          title="Rebuild all counters?"
          facts={[
            { label: 'Changes', value: 'Totals, positions and daily figures that differ from their rows' },
            { label: 'Leaves', value: 'Deposits, withdrawals, bonuses and transactions' },
          ]}
          warning="Do this once it is known what changed the counters: afterwards the difference is in the audit log only."
          note="Recorded in the audit log"
          confirmLabel="Rebuild counters"
          busyLabel="Rebuilding..."
          errorFallback="The counters could not be rebuilt."
          onClose={close}
          onConfirm={async (reason) => {
            const { count } = await rebuild.mutateAsync(reason.trim())
            toasts.success('Counters rebuilt', { description: resultWords(count) })
            close()
          }}
        />
      ) : null}
    </>
  )
}
