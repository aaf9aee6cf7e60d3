import { useState } from 'react'
import { Address } from '@/components/address'
import { LedgerBanner } from '@/components/ledger-banner'
import { Money } from '@/components/money'
import { Change, ReviewDialog, type Fact } from '@/components/review-dialog'
import { Timestamp } from '@/components/timestamp'
import { consequences, type Correction } from '@/lib/corrections'
import { hasCode, errorText } from '@/lib/errors'
import { toasts } from '@/lib/toast-queue'
import { useConfirmCorrection, useDiscardCorrection } from './api'
import { deedOf, restoredWords } from './words'

function targetFacts(correction: Correction): Fact[] {
  const { kind, amount, reference, requested_at: requestedAt, package_value: before, value } = correction
  if (kind === 'set_package') {
    return [
      { label: 'Package', value: <Change from={<Money value={before} />} to={<Money value={value} />} /> },
    ]
  }
  if (kind === 'repair_rows') {
    return (correction.restores ?? []).map((row, index) => ({
      label: `Row ${index + 1}`,
      value: <span className="break-words">{restoredWords(row)}</span>,
    }))
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

export type Act = 'confirm' | 'discard'

const failures: Record<Act, string> = {
  confirm: 'The correction could not be confirmed.',
  discard: 'The proposal could not be discarded.',
}

/** The check to ask for before a row is added: the owner of the database could have written its audit entry. */
function audited({ restores }: Correction): string {
  return restores?.some(({ old }) => !old)
    ? ' A row is added: ask for make audit-log-check before you confirm.'
    : ''
}

function wordsOf(act: Act, correction: Correction) {
  const deed = deedOf(correction)
  return act === 'confirm'
    ? {
        title: `${deed}?`,
        warning: `${consequences[correction.kind]}${audited(correction)} This cannot be undone. The member is notified immediately, with the reason.`,
        confirmLabel: 'Confirm correction',
        busyLabel: 'Confirming...',
        destructive: true,
      }
    : {
        title: `Discard: ${deed}?`,
        warning: 'Nothing else changes. It can be proposed again.',
        confirmLabel: 'Discard proposal',
        busyLabel: 'Discarding...',
      }
}

/** The second administrator's word, with which a correction takes effect; or anybody's that it never shall. */
export function DecideDialog(props: { act: Act; correction: Correction; onClose: () => void }) {
  const { act, correction, onClose } = props
  const confirm = useConfirmCorrection()
  const discard = useDiscardCorrection()
  const [conflict, setConflict] = useState<string | null>(null)
  return (
    <ReviewDialog
      open
      onClose={onClose}
      facts={factsOf(correction)}
      flags={
        <LedgerBanner
          userId={correction.user_id}
          repairs={correction.kind === 'repair_rows'}
          className="mb-4"
        />
      }
      {...wordsOf(act, correction)}
      lateText="No response yet. You can safely try again; the change is made only once."
      // The lists are read again by then.
      onUnanswered={() => Promise.resolve(null)}
      errorFallback={failures[act]}
      conflict={conflict}
      onConfirm={async () => {
        try {
          await (act === 'confirm' ? confirm : discard).mutateAsync(correction.id)
        } catch (error) {
          if (!hasCode(error, 'already_decided', 'not_correctable', 'rows_wrong')) throw error
          setConflict(errorText(error, failures[act]))
          return
        }
        if (act === 'confirm') toasts.success('Correction confirmed', { money: true })
        else toasts.success('Proposal discarded')
        onClose()
      }}
    />
  )
}
