import { useQuery } from '@tanstack/react-query'
import { Notice } from '@/components/notice'
import { ResendButton } from '@/components/resend-button'
import { Button } from '@/components/ui/button'
import { emailChangeQuery, emailChangeText } from '@/lib/email-change'
import { useCancelEmailChange, useResendEmailChange } from './api'

/** A change of address that waits: which links are still to be opened, and both ways out of waiting. */
export function EmailChangeNotice() {
  const { data: change } = useQuery(emailChangeQuery)
  const resend = useResendEmailChange()
  const cancel = useCancelEmailChange()
  if (!change) return null
  return (
    <Notice tone="info">
      <p>{emailChangeText(change)}</p>
      <div className="mt-3 flex flex-wrap items-start gap-3">
        <ResendButton label="Send both links again" onSend={() => resend(change.new_email)} />
        <Button
          variant="outline"
          busy={cancel.isPending && 'Cancelling...'}
          aria-label={`Cancel the change to ${change.new_email}`}
          onClick={() => cancel.mutate()}
        >
          Cancel
        </Button>
      </div>
    </Notice>
  )
}
