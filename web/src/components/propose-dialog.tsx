import type { ReactNode } from 'react'
import { consequences, useProposeCorrection, type CorrectionKind } from '@/lib/corrections'
import type { Decimal } from '@/lib/money'
import { toasts } from '@/lib/toast-queue'
import { LedgerBanner } from './ledger-banner'
import { ReasonDialog } from './reason-dialog'
import type { Fact } from './review-dialog'

interface ProposeDialogProps {
  kind: CorrectionKind
  targetId: string
  /** Whose money it concerns. */
  userId: string
  title: string
  facts: Fact[]
  /** Fields above the reason. */
  children?: ReactNode
  complete?: () => boolean
  /** The package to set. */
  value?: Decimal
  onClose: () => void
}

/** Proposes a correction, with a reason. Nothing changes until another administrator confirms it. */
export function ProposeDialog(props: ProposeDialogProps) {
  const { kind, targetId, userId, title, facts, children, complete, value, onClose } = props
  const propose = useProposeCorrection()
  return (
    <ReasonDialog
      title={title}
      facts={facts}
      flags={<LedgerBanner userId={userId} repairs={kind === 'repair_rows'} className="mb-4" />}
      warning={<>Nothing changes until another administrator confirms this. {consequences[kind]}</>}
      note="The member will see this once it is confirmed"
      fields={children}
      complete={complete}
      confirmLabel="Propose correction"
      busyLabel="Proposing..."
      errorFallback="The correction could not be proposed."
      onClose={onClose}
      onConfirm={async (reason) => {
        await propose.mutateAsync({ kind, targetId, value, reason: reason.trim() })
        toasts.success('Correction proposed', {
          description: 'Another administrator must confirm it.',
        })
        onClose()
      }}
    />
  )
}
