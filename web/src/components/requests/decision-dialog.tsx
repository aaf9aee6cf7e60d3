import { TriangleAlert } from 'lucide-react'
import { useEffect, useRef, useState, type ReactNode } from 'react'
import { administratorSession } from '@/lib/administrator-session'
import { AskedBack, isUnanswered, Refusal } from '@/lib/errors'
import { formatMoney } from '@/lib/money'
import { readDecided, type RequestNoun } from '@/lib/request-changes'
import { toasts } from '@/lib/toast-queue'
import { LedgerBanner } from '@/components/ledger-banner'
import { Notice } from '@/components/notice'
import { ReasonField } from '@/components/reason-field'
import { ReviewDialog, type Fact } from '@/components/review-dialog'
import type { DecisionAction, MoneyRequest, RequestFlag } from './request'
import { decidedText, decisionTexts, flagText } from './texts'

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
  ask_rest: { verb: 'Ask for the rest of', busy: 'Asking...', status: 'pending' },
} as const

const consequences: Record<DecisionAction, string> = {
  approve: 'This cannot be undone. The member is notified immediately.',
  reject: 'This cannot be undone. The member is notified immediately.',
  ask_rest: 'The deposit stays pending. The member is notified immediately.',
}

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
  /** What a rejection says unless another reason is typed. */
  suggestedReason?: string
  decide: (reason: string) => Promise<void>
  /** Whether an error stands at one of the fields by now. */
  isPlaced?: (error: unknown) => boolean
  onClose: () => void
  /** The row is decided, by this press or by somebody else. */
  onDecided: () => void
  /** Nobody knows whether it is decided: what is shown of it is read again. */
  onUncertain: () => void
  onCloseAutoFocus: (event: Event) => void
}

/** Moves the focus to a field: to the first one after a change of what is decided, to the wrong one after an error. */
function useFieldFocus(action: DecisionAction) {
  const fields = useRef<HTMLDivElement>(null)
  const shown = useRef(action)
  const [faults, setFaults] = useState(0)
  useEffect(() => {
    if (shown.current === action) return
    shown.current = action
    fields.current?.querySelector<HTMLElement>('input, textarea')?.focus()
  }, [action])
  useEffect(() => {
    if (faults === 0) return
    fields.current?.querySelector<HTMLElement>('[aria-invalid]')?.focus()
    // With what is said below the field.
    fields.current?.scrollIntoView({ block: 'nearest' })
  }, [faults])
  return { fields, focusWrong: () => setFaults((count) => count + 1) }
}

/** Approving or rejecting a request for money, or asking for the rest of one: once, with the facts in sight, and with the reason the member reads. */
export function DecisionDialog(props: DecisionDialogProps) {
  const { noun, action, row, facts, flagNote, note, children, suggestedReason = '' } = props
  const { decide, isPlaced, onClose, onDecided, onUncertain, onCloseAutoFocus } = props
  const { amount, flags } = row
  // Null until it is typed: what is suggested follows the amount that arrived.
  const [typed, setReason] = useState<string | null>(null)
  const reason = typed ?? suggestedReason
  const { fields, focusWrong } = useFieldFocus(action)
  const [conflict, setConflict] = useState<string | null>(null)
  const { verb, busy, status } = words[action]
  const { failed, done, many } = decisionTexts(noun, action)
  const asks = action === 'ask_rest'

  function finish() {
    const what = asks ? `deposit of ${formatMoney(amount)}` : formatMoney(amount)
    toasts.success(done, { money: true, description: `${row.username}, ${what}`, many })
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
        if (error instanceof AskedBack || isUnanswered(error)) throw error
        if (isPlaced?.(error)) {
          focusWrong()
          return
        }
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
      title={`${verb} ${asks ? 'the ' : ''}${noun} of ${formatMoney(amount)}?`}
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
      warning={
        <>
          {note} {consequences[action]}
        </>
      }
      confirmLabel={asks ? 'Ask for the rest' : `${verb} ${formatMoney(amount)}`}
      busyLabel={busy}
      destructive={action === 'reject'}
      onConfirm={confirm}
      onUnanswered={ask}
      errorFallback={failed}
      conflict={conflict}
      onCloseAutoFocus={onCloseAutoFocus}
    >
      <div ref={fields} className="scroll-mb-4">
        {action === 'reject' ? (
          <ReasonField
            label="Rejection Reason"
            value={reason}
            onChange={setReason}
            note="The member will see this"
          />
        ) : null}
        {children}
      </div>
    </ReviewDialog>
  )
}
