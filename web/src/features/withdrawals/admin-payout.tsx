import { useId, useState } from 'react'
import { Address } from '@/components/address'
import { Field } from '@/components/field'
import { Money } from '@/components/money'
import { ReviewDialog } from '@/components/review-dialog'
import { Checkbox } from '@/components/ui/checkbox'
import { Input } from '@/components/ui/input'
import { hasCode } from '@/lib/errors'
import { formatMoney } from '@/lib/money'
import { readDecided } from '@/lib/request-changes'
import { toasts } from '@/lib/toast-queue'
import { useAddPayout, type AdminWithdrawal, type Payout } from './admin-api'

const longestReference = 200

/** What is typed of a payout, and whether the server asked if other withdrawals were paid with the same transfer. */
export interface PayoutEntry extends Payout {
  asked: boolean
}

export const noPayout: PayoutEntry = { reference: '', shared: false, asked: false }

/** The payout as it is sent; the server's question is then put beside the field. */
export async function sendPayout(
  entry: PayoutEntry,
  onChange: (entry: PayoutEntry) => void,
  send: (payout: Payout) => Promise<unknown>,
): Promise<void> {
  try {
    await send({ reference: entry.reference.trim(), shared: entry.shared })
  } catch (error) {
    if (hasCode(error, 'payout_reference_used')) onChange({ ...entry, asked: true })
    throw error
  }
}

interface PayoutFieldProps {
  label: string
  value: PayoutEntry
  error?: string | null
  onChange: (entry: PayoutEntry) => void
}

/** How a withdrawal was paid. */
export function PayoutField({ label, value, error = null, onChange }: PayoutFieldProps) {
  const shared = useId()
  const tooLong = value.reference.trim().length > longestReference
  return (
    <>
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
            value={value.reference}
            // Another reference is another question.
            onChange={(event) => onChange({ ...noPayout, reference: event.target.value })}
          />
        )}
      </Field>
      {value.asked ? (
        <div className="mt-3 flex items-start gap-3">
          <Checkbox
            id={shared}
            checked={value.shared}
            onCheckedChange={(checked) => onChange({ ...value, shared: checked === true })}
          />
          <label htmlFor={shared}>One transfer paid all of them: use this reference again.</label>
        </div>
      ) : null}
    </>
  )
}

/** Tells later how an approved withdrawal was paid: once. */
export function PayoutDialog({ row, onClose }: { row: AdminWithdrawal; onClose: () => void }) {
  const add = useAddPayout()
  const [payout, setPayout] = useState(noPayout)
  const [missing, setMissing] = useState(false)
  const reference = payout.reference.trim()

  function finish() {
    toasts.success('Payout reference added', {
      money: true,
      description: `${row.username}, ${formatMoney(row.amount)}`,
      many: 'payout references added',
    })
    onClose()
  }

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
      lateText="No response yet. You can safely try again; the change is made only once."
      errorFallback="The payout reference could not be added."
      onConfirm={async () => {
        if (!reference) {
          setMissing(true)
          return
        }
        await sendPayout(payout, setPayout, (sent) => add.mutateAsync({ id: row.id, payout: sent }))
        finish()
      }}
      onUnanswered={async () => {
        const decided = await readDecided('withdrawal', row.id)
        if (!decided?.payout_reference) return 'The response was lost. No payout reference is recorded yet.'
        if (decided.payout_reference === reference) finish()
        return `The response was lost. The recorded payout reference is ${decided.payout_reference}.`
      }}
    >
      <PayoutField
        label="Payout reference"
        value={payout}
        error={missing ? 'Enter the payout reference.' : null}
        onChange={(next) => {
          setMissing(false)
          setPayout(next)
        }}
      />
    </ReviewDialog>
  )
}
