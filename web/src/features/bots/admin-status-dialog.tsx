import { ReasonDialog } from '@/components/reason-dialog'
import { StatusBadge } from '@/components/status-badge'
import { toasts } from '@/lib/toast-queue'
import { useSubscriptionStatus, type AdminSubscription } from './admin-api'

interface StatusDialogProps {
  subscription: AdminSubscription
  onClose: () => void
}

/** Suspends a member's bot, or lets it run again; the member reads why. */
export function StatusDialog({ subscription, onClose }: StatusDialogProps) {
  const change = useSubscriptionStatus()
  const suspend = subscription.status === 'active'
  const verb = suspend ? 'Suspend' : 'Resume'
  return (
    <ReasonDialog
      title={`${verb} ${subscription.bot_name}?`}
      facts={[
        { label: 'Member', value: subscription.username },
        { label: 'Bot', value: subscription.bot_name },
        { label: 'Status', value: <StatusBadge status={subscription.status} /> },
      ]}
      warning="The member is notified immediately."
      note="The member will see this"
      confirmLabel={verb}
      busyLabel={suspend ? 'Suspending...' : 'Resuming...'}
      destructive={suspend}
      errorFallback="The subscription could not be changed."
      onClose={onClose}
      onConfirm={async (reason) => {
        const status = suspend ? 'suspended' : 'active'
        await change.mutateAsync({ subscriptionId: subscription.id, status, reason })
        toasts.success(suspend ? 'Subscription suspended' : 'Subscription resumed')
        onClose()
      }}
    />
  )
}
