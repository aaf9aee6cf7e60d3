import { useEffect, useId, useRef, useState } from 'react'
import { Address } from '@/components/address'
import { Field } from '@/components/field'
import { Money } from '@/components/money'
import { ReasonField } from '@/components/reason-field'
import { RequestFlags } from '@/components/requests/decision-dialog'
import type { RequestFlag } from '@/components/requests/request'
import { flagText } from '@/components/requests/texts'
import { ReviewDialog } from '@/components/review-dialog'
import { Checkbox } from '@/components/ui/checkbox'
import { Input } from '@/components/ui/input'
import { AskedBack, hasCode, Refusal } from '@/lib/errors'
import { formatMoney } from '@/lib/money'
import { readDecided } from '@/lib/request-changes'
import { toasts } from '@/lib/toast-queue'
import { useAddPayout, type AdminWithdrawal, type Payout } from './admin-api'

const longestReference = 200

/** What is typed of a payout, and what the server asked back. */
export interface PayoutEntry extends Payout {
  /** Whether other withdrawals were paid with the same transfer. */
  asked: boolean
  /** Why it is recorded in spite of these. */
  warnings: RequestFlag[]
  /** They were shown, and no reason was given. */
  unreasoned: boolean
}

export const noPayout: PayoutEntry = {
  reference: '',
  shared: false,
  asked: false,
  reason: '',
  warnings: [],
  unreasoned: false,
}

/** The payout as it is sent; the server's questions are then put beside the field. */
export async function sendPayout(
  entry: PayoutEntry,
  onChange: (entry: PayoutEntry) => void,
  send: (payout: Payout) => Promise<unknown>,
): Promise<void> {
  try {
    await send({ reference: entry.reference.trim(), shared: entry.shared, reason: entry.reason.trim() })
  } catch (error) {
    if (hasCode(error, 'payout_reference_used')) onChange({ ...entry, asked: true })
    if (error instanceof Refusal && error.code === 'payout_warned') {
      const warnings = JSON.parse(error.details ?? '[]') as RequestFlag[]
      onChange({ ...entry, warnings, unreasoned: entry.warnings.length > 0 })
      throw new AskedBack()
    }
    throw error
  }
}

interface PayoutQuestionProps {
  value: PayoutEntry
  onChange: (entry: PayoutEntry) => void
}

/** Why a payout is recorded in spite of what warns of it. */
function PayoutReason({ value, onChange }: PayoutQuestionProps) {
  const field = useRef<HTMLTextAreaElement>(null)
  // Also when it is asked for again.
  useEffect(() => field.current?.focus(), [value.warnings])
  return (
    <ReasonField
      ref={field}
      label="Why it was paid all the same"
      hint={
        <span className="text-warning">{value.warnings.map((flag) => `${flagText(flag)}.`).join(' ')}</span>
      }
      value={value.reason}
      error={value.unreasoned ? 'Give a reason.' : null}
      onChange={(reason) => onChange({ ...value, reason, unreasoned: false })}
      note="In the audit log. The member does not see it"
    />
  )
}

interface PayoutFieldProps extends PayoutQuestionProps {
  label: string
  error?: string | null
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
            onChange={(event) =>
              onChange({ ...value, reference: event.target.value, shared: false, asked: false })
            }
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
      {value.warnings.length > 0 && value.reference.trim() ? (
        <PayoutReason value={value} onChange={onChange} />
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
      <div className="mt-3 empty:mt-0">
        <RequestFlags flags={row.flags} />
      </div>
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
