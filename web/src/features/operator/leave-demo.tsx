import { useState } from 'react'
import { Field } from '@/components/field'
import { ReviewDialog } from '@/components/review-dialog'
import { Input } from '@/components/ui/input'
import { useProductName } from '@/lib/platform'
import { toasts } from '@/lib/toast-queue'
import { useOperatorAct } from './api'

/** The way out of demo mode, for good; the product's name is typed to make sure. */
export function LeaveDemo({ onClose }: { onClose: () => void }) {
  const product = useProductName()
  const act = useOperatorAct()
  const [typed, setTyped] = useState('')
  const [wrong, setWrong] = useState(false)
  return (
    <ReviewDialog
      open
      onClose={onClose}
      title="Accept real money?"
      facts={[{ label: 'Product', value: product }]}
      warning="Demo mode ends for good. Members can send real deposits from this moment on."
      confirmLabel="Accept real money"
      busyLabel="Ending demo mode..."
      lateText="No response yet. You can safely try again; the change is made only once."
      errorFallback="Demo mode could not be ended."
      onConfirm={async () => {
        if (typed.trim() !== product) {
          setWrong(true)
          return
        }
        await act.mutateAsync({ action: 'leave_demo' })
        toasts.success('Real money is accepted now')
        onClose()
      }}
    >
      <Field
        label="Type the product's name"
        className="mt-4"
        error={wrong ? `Type ${product} to go on.` : null}
      >
        {(control) => (
          <Input
            {...control}
            autoComplete="off"
            value={typed}
            onChange={(event) => {
              setWrong(false)
              setTyped(event.target.value)
            }}
          />
        )}
      </Field>
    </ReviewDialog>
  )
}
