import { useState } from 'react'
import { ReasonDialog } from '@/components/reason-dialog'
import { errorText, hasCode } from '@/lib/errors'
import { toasts } from '@/lib/toast-queue'
import { useRestoreMember, type Alarm } from './api'
import { DifferencesTable } from './differences-table'

const failed = 'The member could not be restored.'

/** Sets a member who was changed past the product back to what the audit log says. */
export function RestoreDialog({ alarm, onClose }: { alarm: Alarm; onClose: () => void }) {
  const restore = useRestoreMember()
  const [conflict, setConflict] = useState<string | null>(null)
  return (
    <ReasonDialog
      title="Restore this member?"
      facts={[
        { label: 'Member', value: alarm.username ?? '' },
        { label: 'Alarm', value: <span className="break-words">{alarm.problem}</span> },
      ]}
      warning="Wallet, email, status and hold are set to what the audit log says. Ask the member first which is right."
      fields={<DifferencesTable alarm={alarm} />}
      note="Recorded in the audit log"
      confirmLabel="Restore"
      busyLabel="Restoring..."
      errorFallback={failed}
      conflict={conflict}
      onClose={onClose}
      onConfirm={async (reason) => {
        try {
          await restore.mutateAsync({ profileId: alarm.profile_id ?? '', reason: reason.trim() })
        } catch (error) {
          if (!hasCode(error, 'email_unknown', 'not_found')) throw error
          setConflict(errorText(error, failed))
          return
        }
        toasts.success('Member restored. The alarm ends with the next check.')
        onClose()
      }}
    />
  )
}
