import { ReasonDialog } from '@/components/reason-dialog'
import { Change } from '@/components/review-dialog'
import { StatusBadge } from '@/components/status-badge'
import { toasts } from '@/lib/toast-queue'
import { useUpdateMember, type AccountStatus, type MemberDetails } from './admin-api'

const words: Record<AccountStatus, { verb: string; busy: string; done: string }> = {
  active: { verb: 'Reactivate', busy: 'Reactivating...', done: 'Account reactivated' },
  pending: { verb: 'Set pending', busy: 'Saving...', done: 'Account set to pending' },
  suspended: { verb: 'Suspend', busy: 'Suspending...', done: 'Account suspended' },
  disabled: { verb: 'Disable', busy: 'Disabling...', done: 'Account disabled' },
}

/** What the change means to the member at once. */
function consequence(from: AccountStatus, to: AccountStatus): string {
  if (to === 'suspended' || to === 'disabled') return 'They are signed out at once.'
  if (to === 'pending') return 'They can still sign in, but not deposit or withdraw.'
  return from === 'pending' ? 'They can deposit and withdraw again.' : 'They can sign in again immediately.'
}

interface StatusDialogProps {
  member: MemberDetails
  target: AccountStatus
  onClose: () => void
}

/** Changes an account's status: with a reason, which the member reads. */
export function StatusDialog({ member, target, onClose }: StatusDialogProps) {
  const update = useUpdateMember()
  const { verb, busy, done } = words[target]
  const change = (
    <Change from={<StatusBadge status={member.account_status} />} to={<StatusBadge status={target} />} />
  )
  return (
    <ReasonDialog
      title={target === 'pending' ? `${verb}: ${member.username}?` : `${verb} ${member.username}?`}
      facts={[
        { label: 'Member', value: member.display_name ?? member.username },
        { label: 'Email', value: <span className="no-kerning">{member.email ?? 'N/A'}</span> },
        { label: 'Account status', value: change },
      ]}
      warning={consequence(member.account_status, target)}
      note="The member will see this"
      confirmLabel={verb}
      busyLabel={busy}
      destructive={target === 'suspended' || target === 'disabled'}
      errorFallback="The account could not be changed."
      onClose={onClose}
      onConfirm={async (reason) => {
        await update.mutateAsync({ profileId: member.id, account_status: target, reason })
        toasts.success(done)
        onClose()
      }}
    />
  )
}
