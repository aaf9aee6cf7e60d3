import { TriangleAlert } from 'lucide-react'
import { useState, type ReactNode } from 'react'
import { administratorSession } from '@/lib/administrator-session'
import { isUnanswered, Refusal } from '@/lib/errors'
import { formatMoney } from '@/lib/money'
import { readDecided, type RequestNoun } from '@/lib/request-changes'
import { toasts } from '@/lib/toast-queue'
import { LedgerBanner } from '@/components/ledger-banner'
import { Notice } from '@/components/notice'
import { ReasonField } from '@/components/reason-field'
import { ReviewDialog, type Fact } from '@/components/review-dialog'
import type { DecisionAction, MoneyRequest, RequestFlag } from './request'
import { decidedText, flagText, requestTexts } from './texts'

/** What stands out about a request, one line each. */
export function RequestFlags({ flags }: { flags: RequestFlag[] }) {
  if (flags.length === 0) return null
  return (
    <ul className="flex flex-wrap gap-x-4 gap-y-1">
      {flags.map((flag) => (
        <li key={flag.kind + flag.text} className="inline-flex items-center gap-1.5 text-warning">
          <TriangleAlert className="size-3.5" aria-hidden />
          {flagText(flag)}
        </li>
      ))}
    </ul>
  )
}

const words = {
  approve: { verb: 'Approve', busy: 'Approving...', status: 'approved' },
  reject: { verb: 'Reject', busy: 'Rejecting...', status: 'rejected' },
} as const

/** The server's "somebody was faster", with the reason that person gave. */
function conflictOf(error: unknown): string | null {
  if (!(error instanceof Refusal) || error.code !== 'already_decided') return null
  try {
    const { reason } = JSON.parse(error.details ?? '{}') as { reason?: string | null }
    return reason ? `${error.message} Reason: ${reason}` : error.message
  } catch {
    return error.message
  }
}

interface DecisionDialogProps {
  noun: RequestNoun
  action: DecisionAction
  row: MoneyRequest
  facts: Fact[]
  /** Said below the flags. */
  flagNote?: string
  /** Said before the sentence every decision carries. */
  note?: ReactNode
  /** What this decision may be given beside the reason. */
  children?: ReactNode
  decide: (reason: string) => Promise<void>
  onClose: () => void
  /** The row is decided, by this press or by somebody else. */
  onDecided: () => void
  /** Nobody knows whether it is decided: what is shown of it is read again. */
  onUncertain: () => void
  onCloseAutoFocus: (event: Event) => void
}

/** Approving or rejecting a request for money: once, with the facts in sight, and with the reason the member reads. */
export function DecisionDialog(props: DecisionDialogProps) {
  const { noun, action, row, facts, flagNote, note, children } = props
  const { decide, onClose, onDecided, onUncertain, onCloseAutoFocus } = props
  const { amount, flags } = row
  const [reason, setReason] = useState('')
  const [conflict, setConflict] = useState<string | null>(null)
  const { verb, busy, status } = words[action]
  const { failed, done, many } = requestTexts[noun][action]

  function finish() {
    toasts.success(done, { money: true, description: `${row.username}, ${formatMoney(amount)}`, many })
    onDecided()
    onClose()
  }

  /** After a lost response: what the server says of the request now. */
  async function ask(): Promise<string | null> {
    onUncertain()
    const decided = await readDecided(noun, row.id)
    if (decided === null) return `The response was lost. This ${noun} is still pending.`
    if (decided.status === status && decided.decided_by === administratorSession.current()?.admin.id) finish()
    else {
      setConflict(`Already ${decidedText(decided)}.`)
      onDecided()
    }
    return null
  }

  async function confirm() {
    try {
      await decide(action === 'reject' ? reason.trim() || 'No reason provided' : '')
    } catch (error) {
      const elsewhere = conflictOf(error)
      if (elsewhere === null) {
        if (isUnanswered(error)) throw error
        const said = error instanceof Refusal && error.speaks && error.message ? error.message : failed
        toasts.error('Error', { description: said })
        throw error
      }
      setConflict(elsewhere)
      onDecided()
      return
    }
    finish()
  }

  return (
    <ReviewDialog
      open
      onClose={onClose}
      title={`${verb} ${noun} of ${formatMoney(amount)}?`}
      facts={facts}
      flags={
        <>
          <LedgerBanner userId={row.user_id} className="mb-4" />
          {flags.length > 0 ? (
            <Notice tone="warning" className="mb-4">
              <ul>
                {flags.map((flag) => (
                  <li key={flag.kind + flag.text}>{flagText(flag)}</li>
                ))}
              </ul>
              {flagNote ? <p className="mt-1">{flagNote}</p> : null}
            </Notice>
          ) : null}
        </>
      }
      warning={<>{note} This cannot be undone. The member is notified immediately.</>}
      confirmLabel={`${verb} ${formatMoney(amount)}`}
      busyLabel={busy}
      destructive={action === 'reject'}
      onConfirm={confirm}
      onUnanswered={ask}
      errorFallback={failed}
      conflict={conflict}
      onCloseAutoFocus={onCloseAutoFocus}
    >
      {action === 'reject' ? (
        <ReasonField
          label="Rejection Reason"
          value={reason}
          onChange={setReason}
          note="The member will see this"
        />
      ) : null}
      {children}
    </ReviewDialog>
  )
}
