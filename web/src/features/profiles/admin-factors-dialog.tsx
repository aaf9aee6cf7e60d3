import { ReasonDialog } from '@/components/reason-dialog'
import { toasts } from '@/lib/toast-queue'
import { useRemoveFactors, type MemberDetails } from './admin-api'

/** Takes the second step off an account whose owner lost every device. */
export function FactorsDialog({ member, onClose }: { member: MemberDetails; onClose: () => void }) {
  const remove = useRemoveFactors()
  return (
    <ReasonDialog
      title={`Remove the second step of ${member.username}?`}
      facts={[
        { label: 'Member', value: member.display_name ?? member.username },
        { label: 'Email', value: <span className="no-kerning">{member.email ?? 'N/A'}</span> },
      ]}
      warning="They are signed out everywhere and notified by email. For 24 hours their withdrawals cannot be approved."
      label="How you verified their identity"
      note="Kept in the audit log"
      confirmLabel="Remove second step"
      busyLabel="Removing..."
      destructive
      errorFallback="The second step could not be removed."
      onClose={onClose}
      onConfirm={async (reason) => {
        await remove.mutateAsync({ profileId: member.id, reason })
        toasts.success('Second step removed')
        onClose()
      }}
    />
  )
}
