import { useState } from 'react'
import { Address } from '@/components/address'
import { ReasonDialog } from '@/components/reason-dialog'
import { Timestamp } from '@/components/timestamp'
import { errorText, hasCode } from '@/lib/errors'
import { toasts } from '@/lib/toast-queue'
import { useAcknowledgeAlarm, type Alarm } from './api'
import { blockedWords, namedThing } from './words'

const failed = 'The alarm could not be acknowledged.'

/** A super administrator has understood an alarm, and says why it is no danger. */
export function AcknowledgeDialog({ alarm, onClose }: { alarm: Alarm; onClose: () => void }) {
  const acknowledge = useAcknowledgeAlarm()
  const [conflict, setConflict] = useState<string | null>(null)
  const thing = namedThing(alarm)
  return (
    <ReasonDialog
      title="Acknowledge this alarm?"
      facts={[
        { label: 'Alarm', value: <span className="break-words">{alarm.problem}</span> },
        ...(alarm.username ? [{ label: 'Member', value: alarm.username }] : []),
        ...(thing
          ? [
              {
                label: thing.label,
                value: (
                  <span className="break-words">
                    {thing.name} {thing.id ? <Address value={thing.id} short what="id" /> : null}
                  </span>
                ),
              },
            ]
          : []),
        { label: 'Since', value: <Timestamp value={alarm.raised_at} exact /> },
        { label: 'Blocks', value: blockedWords(alarm) },
      ]}
      warning={
        alarm.stops
          ? 'Decisions go on as if the figures were right, until they change. Nothing is repaired by this.'
          : 'No reminder follows. Nothing is repaired by this.'
      }
      note="Recorded in the audit log"
      confirmLabel="Acknowledge"
      busyLabel="Acknowledging..."
      destructive={alarm.stops !== null}
      errorFallback={failed}
      conflict={conflict}
      onClose={onClose}
      onConfirm={async (reason) => {
        try {
          await acknowledge.mutateAsync({ id: alarm.id, reason: reason.trim() })
        } catch (error) {
          if (!hasCode(error, 'already_decided', 'not_found')) throw error
          setConflict(errorText(error, failed))
          return
        }
        toasts.success('Alarm acknowledged')
        onClose()
      }}
    />
  )
}
