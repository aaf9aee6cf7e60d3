import { useQueryClient } from '@tanstack/react-query'
import { useState, type ReactNode } from 'react'
import { adminKey } from '@/lib/admin-overview'
import { ReasonField } from './reason-field'
import { ReviewDialog, type Fact } from './review-dialog'

interface ReasonDialogProps {
  title: string
  facts: Fact[]
  flags?: ReactNode
  warning: ReactNode
  label?: string
  /** Fields above the reason. */
  fields?: ReactNode
  /** Whether those fields are filled in; what is missing is said there. */
  complete?: () => boolean
  /** Who reads the reason. */
  note: string
  confirmLabel: string
  busyLabel: string
  destructive?: boolean
  /** Called with a reason that says something; resolves when done. */
  onConfirm: (reason: string) => Promise<void>
  errorFallback: string
  /** Done elsewhere: only Close is left. */
  conflict?: ReactNode
  onClose: () => void
}

/** An act that needs a reason and may be asked for again without harm. */
export function ReasonDialog(props: ReasonDialogProps) {
  const { label = 'Reason', fields, complete, note, onConfirm, ...rest } = props
  const [reason, setReason] = useState('')
  const [missing, setMissing] = useState(false)
  const queries = useQueryClient()
  async function reread(): Promise<null> {
    await queries.invalidateQueries({ queryKey: [adminKey] })
    return null
  }
  return (
    <ReviewDialog
      {...rest}
      open
      lateText="No response yet. You can safely try again; the change is made only once."
      onUnanswered={reread}
      onConfirm={async () => {
        const filled = complete?.() ?? true
        if (!reason.trim()) setMissing(true)
        else if (filled) await onConfirm(reason)
      }}
    >
      {fields}
      <ReasonField
        label={label}
        value={reason}
        onChange={(next) => {
          setMissing(false)
          setReason(next)
        }}
        note={note}
        error={missing ? 'Give a reason.' : null}
      />
    </ReviewDialog>
  )
}
