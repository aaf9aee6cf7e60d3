import { useState } from 'react'
import { Address } from '@/components/address'
import { Field } from '@/components/field'
import { Money } from '@/components/money'
import { ReviewDialog } from '@/components/review-dialog'
import { Input } from '@/components/ui/input'
import { formatMoney } from '@/lib/money'
import { toasts } from '@/lib/toast-queue'
import { useAddPayout, type AdminWithdrawal } from './admin-api'

const longestReference = 200

interface PayoutFieldProps {
  label: string
  value: string
  error?: string | null
  onChange: (reference: string) => void
}

/** How a withdrawal was paid. */
export function PayoutField({ label, value, error = null, onChange }: PayoutFieldProps) {
  const tooLong = value.trim().length > longestReference
  return (
    <Field
      label={label}
      hint="The transaction hash or the exchange's number, once it is paid. The member sees it."
      className="mt-4"
      error={tooLong ? 'A payout reference has at most 200 characters.' : error}
    >
      {(control) => (
        <Input
          {...control}
          className="font-mono"
          autoComplete="off"
          spellCheck={false}
          value={value}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </Field>
  )
}

/** Tells later how an approved withdrawal was paid: once. */
export function PayoutDialog({ row, onClose }: { row: AdminWithdrawal; onClose: () => void }) {
  const add = useAddPayout()
  const [reference, setReference] = useState('')
  const [missing, setMissing] = useState(false)
  return (
    <ReviewDialog
      open
      onClose={onClose}
      title={`Add the payout reference of ${formatMoney(row.amount)}?`}
      facts={[
        { label: 'Member', value: row.username },
        { label: 'Amount', value: <Money value={row.amount} className="font-semibold" /> },
        { label: 'Address', value: <Address value={row.wallet_address} copy /> },
      ]}
      warning="It cannot be changed afterwards, and the withdrawal can no longer be voided."
      confirmLabel="Add reference"
      busyLabel="Adding..."
      lateText="No answer yet. Asking again changes nothing twice."
      errorFallback="The payout reference could not be added."
      onConfirm={async () => {
        if (!reference.trim()) {
          setMissing(true)
          return
        }
        await add.mutateAsync({ id: row.id, reference: reference.trim() })
        toasts.success('Payout reference added', { money: true })
        onClose()
      }}
    >
      <PayoutField
        label="Payout reference"
        value={reference}
        error={missing ? 'Enter the payout reference.' : null}
        onChange={(next) => {
          setMissing(false)
          setReference(next)
        }}
      />
    </ReviewDialog>
  )
}
