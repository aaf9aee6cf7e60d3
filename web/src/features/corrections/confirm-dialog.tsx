import { useState } from 'react'
import { Address } from '@/components/address'
import { Money } from '@/components/money'
import { Change, ReviewDialog, type Fact } from '@/components/review-dialog'
import { Timestamp } from '@/components/timestamp'
import { consequences, type Correction } from '@/lib/corrections'
import { hasCode, errorText } from '@/lib/errors'
import { toasts } from '@/lib/toast-queue'
import { useConfirmCorrection } from './api'
import { deedOf } from './words'

const failed = 'The correction could not be confirmed.'

function targetFacts(correction: Correction): Fact[] {
  const { kind, amount, reference, requested_at: requestedAt, package_value: before, value } = correction
  if (kind === 'set_package') {
    return [
      { label: 'Package', value: <Change from={<Money value={before} />} to={<Money value={value} />} /> },
    ]
  }
  return [
    { label: 'Amount', value: <Money value={amount} className="font-semibold" /> },
    ...(requestedAt ? [{ label: 'Requested', value: <Timestamp value={requestedAt} exact /> }] : []),
    kind === 'void_deposit'
      ? { label: 'Reference', value: <span className="font-mono text-compact break-words">{reference}</span> }
      : { label: 'Address', value: <Address value={reference ?? ''} /> },
  ]
}

function factsOf(correction: Correction): Fact[] {
  return [
    {
      label: 'Member',
      value: (
        <>
          <span className="font-semibold">{correction.display_name}</span> {correction.username}
        </>
      ),
    },
    ...targetFacts(correction),
    { label: 'Reason', value: <span className="break-words">{correction.reason}</span> },
    {
      label: 'Proposed by',
      value: (
        <>
          {correction.proposed_by_name}, <Timestamp value={correction.proposed_at} />
        </>
      ),
    },
  ]
}

/** The second administrator's word: with it the correction takes effect. */
export function ConfirmDialog({ correction, onClose }: { correction: Correction; onClose: () => void }) {
  const confirm = useConfirmCorrection()
  const [conflict, setConflict] = useState<string | null>(null)
  return (
    <ReviewDialog
      open
      onClose={onClose}
      title={`${deedOf(correction)}?`}
      facts={factsOf(correction)}
      warning={
        <>
          {consequences[correction.kind]} This cannot be undone. The member is told at once, with the reason.
        </>
      }
      confirmLabel="Confirm correction"
      busyLabel="Confirming..."
      lateText="No answer yet. Asking again changes nothing twice."
      destructive
      errorFallback={failed}
      conflict={conflict}
      onConfirm={async () => {
        try {
          await confirm.mutateAsync(correction.id)
        } catch (error) {
          if (!hasCode(error, 'already_decided', 'not_correctable')) throw error
          setConflict(errorText(error, failed))
          return
        }
        toasts.success('Correction confirmed', { money: true })
        onClose()
      }}
    />
  )
}
