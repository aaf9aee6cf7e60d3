import { Field } from '@/components/field'
import { amountProblem, MoneyInput } from '@/components/money-input'
import type { DecisionAction } from '@/components/requests/request'
import { Button } from '@/components/ui/button'
import { Refusal } from '@/lib/errors'
import { compare, formatMoney, parseAmount, subtract, type Decimal } from '@/lib/money'
import type { AdminDeposit } from './admin-api'

/** What is typed of the amount that arrived, and what the server said of it. */
export interface AmountEntry {
  typed: string
  error: Refusal | null
}

export const noAmount: AmountEntry = { typed: '', error: null }

const codes = ['invalid_amount', 'received_amount_required', 'amount_differs', 'nothing_missing']

/** Whether an error is about the amount, and so stands at its field. */
export function isAboutAmount(error: unknown): error is Refusal {
  return error instanceof Refusal && codes.includes(error.code)
}

function readTyped({ typed }: AmountEntry): Decimal | null {
  const read = parseAmount(typed)
  return 'value' in read ? read.value : null
}

function isSame(typed: string, before: string): boolean {
  const [one, other] = [parseAmount(typed), parseAmount(before)]
  return 'value' in one && 'value' in other && one.value === other.value
}

/** The amount as it is sent, null where the field is empty; throws where it cannot be read. */
export function sentAmount(entry: AmountEntry): Decimal | null {
  if (entry.typed.trim() === '') return null
  const problem = amountProblem(entry.typed)
  if (problem !== null) throw new Refusal(problem, 400, 'invalid_amount')
  return readTyped(entry)
}

/** What a rejection says of a deposit of which another amount arrived; empty of any other. */
export function amountReason({ amount, rest }: AdminDeposit, entry: AmountEntry): string {
  const received = readTyped(entry) ?? rest?.received_amount ?? amount
  if (compare(received, amount) === 0) return ''
  return `We received ${formatMoney(received)}, and you claimed ${formatMoney(amount)}.`
}

interface Words {
  label: string
  hint: string
}

function wordsOf({ amount, tolerance, rest }: AdminDeposit, action: DecisionAction): Words {
  const claim = formatMoney(amount)
  if (action === 'ask_rest')
    return {
      label: 'Amount that has arrived so far',
      hint: `All transfers for this deposit of ${claim} together.`,
    }
  const limit = formatMoney(tolerance ?? '0')
  const rule = `It may differ from ${claim} by ${limit} at most; ${claim} is credited either way.`
  return rest
    ? { label: 'Amount that arrived in all', hint: `All transfers, the rest included. ${rule}` }
    : { label: 'Amount that arrived (optional)', hint: `Leave it empty if ${claim} arrived. ${rule}` }
}

/** "$40.00 less than claimed": how what is typed compares; null while there is nothing to say. */
function comparison(amount: Decimal, entry: AmountEntry, action: DecisionAction): string | null {
  const received = readTyped(entry)
  if (received === null || compare(received, '0') === 0) return null
  const less = subtract(amount, received)
  if (compare(less, '0') > 0)
    return action === 'ask_rest'
      ? `The member is asked to send ${formatMoney(less)}.`
      : `${formatMoney(less)} less than claimed.`
  return compare(less, '0') < 0 ? `${formatMoney(subtract(received, amount))} more than claimed.` : null
}

interface AmountFieldProps {
  row: AdminDeposit
  action: DecisionAction
  value: AmountEntry
  onChange: (entry: AmountEntry) => void
  /** Goes on with another decision about the same deposit. */
  onDecide: (action: DecisionAction) => void
}

/** How much of a deposit arrived. An amount that cannot be approved leads to what can be done with it. */
export function AmountField({ row, action, value, onChange, onDecide }: AmountFieldProps) {
  const { error } = value
  const { label, hint } = wordsOf(row, action)
  const received = readTyped(value)
  return (
    <>
      <Field
        label={label}
        hint={hint}
        className="mt-4"
        error={error?.message}
        note={error ? null : comparison(row.amount, value, action)}
      >
        {(control) => (
          <MoneyInput
            {...control}
            className="max-w-60"
            value={value.typed}
            // Written out when it is left, it is the same amount.
            onChange={(typed) => onChange({ typed, error: isSame(typed, value.typed) ? error : null })}
          />
        )}
      </Field>
      {error?.code === 'amount_differs' && received !== null ? (
        <div className="mt-3 flex flex-wrap gap-3">
          {compare(received, row.amount) < 0 ? (
            <Button variant="outline" size="compact" onClick={() => onDecide('ask_rest')}>
              Ask for the rest
            </Button>
          ) : null}
          <Button variant="outline" size="compact" onClick={() => onDecide('reject')}>
            Reject with both amounts
          </Button>
        </div>
      ) : null}
    </>
  )
}
