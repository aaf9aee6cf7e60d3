import { TriangleAlert } from 'lucide-react'
import { useState, type ReactNode } from 'react'
import { Refusal } from '@/lib/errors'
import { formatMoney, type Decimal } from '@/lib/money'
import { toasts } from '@/lib/toast-queue'
import { LedgerBanner } from '@/components/ledger-banner'
import { ReasonField } from '@/components/reason-field'
import { ReviewDialog, type Fact } from '@/components/review-dialog'
import type { DecisionAction, RequestFlag } from './request'
import { requestTexts } from './texts'

/** What stands out about a request, one line each. */
export function RequestFlags({ flags }: { flags: RequestFlag[] }) {
  if (flags.length === 0) return null
  return (
    <ul className="flex flex-wrap gap-x-4 gap-y-1">
      {flags.map((flag) => (
        <li key={flag.kind + flag.text} className="inline-flex items-center gap-1.5 text-warning">
          <TriangleAlert className="size-3.5" aria-hidden />
          {flag.text}
        </li>
      ))}
    </ul>
  )
}

const words = {
  approve: { verb: 'Approve', busy: 'Approving...' },
  reject: { verb: 'Reject', busy: 'Rejecting...' },
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
  noun: 'deposit' | 'withdrawal'
  action: DecisionAction
  amount: Decimal
  facts: Fact[]
  flags: RequestFlag[]
  /** Whose request it is. */
  userId: string
  /** Said before the sentence every decision carries. */
  note?: ReactNode
  /** What this decision may be given beside the reason. */
  children?: ReactNode
  decide: (reason: string) => Promise<void>
  onClose: () => void
  /** The row is decided, by this press or by somebody else. */
  onDecided: () => void
  onCloseAutoFocus: (event: Event) => void
}

/** Approving or rejecting a request for money: once, with the facts in sight, and with the reason the member reads. */
export function DecisionDialog(props: DecisionDialogProps) {
  const { noun, action, amount, facts, flags, userId, note, children } = props
  const { decide, onClose, onDecided, onCloseAutoFocus } = props
  const [reason, setReason] = useState('')
  const [conflict, setConflict] = useState<string | null>(null)
  const { verb, busy } = words[action]
  const { failed, done } = requestTexts[noun][action]

  async function confirm() {
    try {
      await decide(action === 'reject' ? reason.trim() || 'No reason provided' : '')
    } catch (error) {
      const elsewhere = conflictOf(error)
      if (elsewhere === null) {
        const said = error instanceof Refusal && error.speaks && error.message ? error.message : failed
        toasts.error('Error', { description: said })
        throw error
      }
      setConflict(elsewhere)
      onDecided()
      return
    }
    toasts.success(done, { money: true })
    onDecided()
    onClose()
  }

  return (
    <ReviewDialog
      open
      onClose={onClose}
      title={`${verb} ${noun} of ${formatMoney(amount)}?`}
      facts={facts}
      flags={
        <>
          <LedgerBanner userId={userId} className="mb-4" />
          {flags.length > 0 ? (
            <div className="mb-4 text-compact">
              <RequestFlags flags={flags} />
            </div>
          ) : null}
        </>
      }
      warning={<>{note} This cannot be undone. The member is told at once.</>}
      confirmLabel={`${verb} ${formatMoney(amount)}`}
      busyLabel={busy}
      destructive={action === 'reject'}
      onConfirm={confirm}
      errorFallback={failed}
      conflict={conflict}
      onCloseAutoFocus={onCloseAutoFocus}
    >
      {action === 'reject' ? (
        <ReasonField
          label="Rejection Reason"
          value={reason}
          onChange={setReason}
          note="The member reads this"
        />
      ) : null}
      {children}
    </ReviewDialog>
  )
}
