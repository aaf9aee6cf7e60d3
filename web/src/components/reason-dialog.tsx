import { useState, type ReactNode } from 'react'
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
  return (
    <ReviewDialog
      {...rest}
      open
      lateText="No answer yet. Asking again changes nothing twice."
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
