import { useId, useState, type ReactNode } from 'react'
import { Controller, useWatch } from 'react-hook-form'
import { Link } from 'react-router'
import { ActsFor } from '@/components/account-name'
import { ActionBar } from '@/components/action-bar'
import { ErrorLine, Field } from '@/components/field'
import { ErrorSummary, fieldError, type useAppForm } from '@/components/form'
import { LeaveGuard } from '@/components/leave-guard'
import { MayHaveBeenSent } from '@/components/may-have-been-sent'
import { Money } from '@/components/money'
import { MoneyInput } from '@/components/money-input'
import { RiskLine } from '@/components/risk-line'
import { Button } from '@/components/ui/button'
import { Checkbox } from '@/components/ui/checkbox'
import { Label } from '@/components/ui/label'
import { afterPress } from '@/lib/after-press'
import type { Account } from '@/lib/account'
import { paths } from '@/lib/paths'
import type { Platform } from '@/lib/platform'
import { useOnline } from '@/lib/use-online'
import { explainMeaning, readAmount } from './amount'
import type { DepositOptions } from './api'
import { DepositReview } from './deposit-review'
import { amountOf, type DepositValues } from './deposit-schema'
import { otherAmount, PackageChoice } from './package-choice'
import { ReceiptField } from './receipt-field'
import { ReferenceField } from './reference-field'
import type { DepositFormState } from './use-deposit-form'

interface DepositFormProps {
  account: Account
  deposit: DepositFormState
  options: DepositOptions
  platform: Platform
  /** Sends what was reviewed. */
  onSend: (values: DepositValues) => Promise<void>
  /** The last attempt got no answer. */
  isUnknown: boolean
  /** What stands above the fields: the guide and the address. */
  children: ReactNode
}

export function DepositForm(props: DepositFormProps) {
  const { account, deposit, options, platform, onSend, isUnknown, children } = props
  const { form, isStarted, amount, outcome } = deposit
  const [reviewing, setReviewing] = useState<DepositValues | null>(null)
  const online = useOnline()
  const offline = useId()

  return (
    <form
      noValidate
      aria-label="Deposit request"
      className="flex max-w-[560px] min-w-0 flex-col gap-8 md:gap-10"
      onSubmit={(event) => void form.handleSubmit((values) => setReviewing(values))(event)}
    >
      <LeaveGuard when={isStarted && reviewing === null} onLeave={deposit.discard} />
      <ErrorSummary form={form} />
      {isUnknown ? <MayHaveBeenSent /> : null}
      {children}
      <AmountSection form={form} options={options} packages={platform.packages} />
      <section aria-labelledby="proof" className="flex flex-col gap-5">
        <h2 id="proof" className="-mb-3 text-section">
          Proof of payment
        </h2>
        <ReferenceField form={form} name="reference" label="Reference number" />
        <ReceiptField
          form={form}
          pdf={options.other_amount_allowed}
          maxBytes={platform.limits.receipt_max_bytes}
        />
      </section>
      <Understood form={form} />
      <ActsFor account={account}>This deposit is for</ActsFor>
      <ActionBar
        summary={
          <>
            <span className="block text-muted-foreground">{outcome.packageAfter ?? 'Amount'}</span>
            <Money value={amount} className="font-semibold" />
          </>
        }
      >
        <Button type="submit" aria-disabled={!online} aria-describedby={online ? undefined : offline}>
          Review deposit
        </Button>
        <Button asChild variant="link" className="hidden px-4 md:inline-flex">
          <Link to={paths.dashboard}>Cancel</Link>
        </Button>
        {online ? null : (
          <span id={offline} className="text-compact text-warning">
            You are offline.
          </span>
        )}
      </ActionBar>
      {reviewing ? (
        <DepositReview
          account={account}
          amount={amountOf(reviewing) ?? '0'}
          outcome={outcome}
          reference={reviewing.reference.trim()}
          file={reviewing.receiptFile}
          pending={options.pending}
          onClose={() => setReviewing(null)}
          onConfirm={() => onSend(reviewing)}
        />
      ) : null}
    </form>
  )
}

type Form = ReturnType<typeof useAppForm<DepositValues>>

interface AmountSectionProps {
  form: Form
  options: DepositOptions
  packages: Platform['packages']
}

function headingOf({ choices, other_amount_allowed: isOtherAllowed, verification }: DepositOptions): string {
  if (!isOtherAllowed) return 'Choose a package'
  if (verification.missingCashIn !== null) return 'Choose an amount'
  return choices.length > 0 ? 'Upgrade or other amount' : 'Other amount'
}

/** Said under the choices; what completes the package is explained in its row. */
function noteOfChoice(choice: string, note: string | null, options: DepositOptions): string | null {
  if (!options.other_amount_allowed)
    return 'You can move to a higher package later, at its full price. Never to a lower one.'
  if (choice !== '') return choice === options.verification.missingCashIn ? null : note
  return options.choices.length > 0
    ? 'An upgrade costs the full price of the higher package. What you paid before is not deducted.'
    : null
}

function AmountSection({ form, options, packages }: AmountSectionProps) {
  const title = useId()
  const [choice, typed] = useWatch({ control: form.control, name: ['choice', 'typed'] })
  const amount = amountOf({ choice, typed })
  const note = amount === null ? null : explainMeaning(readAmount(amount, packages, options))
  const error = fieldError(form, 'choice')
  return (
    <section aria-labelledby={title}>
      <h2 id={title} className="text-section">
        {headingOf(options)}
      </h2>
      <Controller
        control={form.control}
        name="choice"
        render={({ field }) => (
          <div className="mt-2 flex flex-col gap-2">
            <PackageChoice
              ref={(group: HTMLDivElement | null) =>
                field.ref(
                  group && { focus: () => group.querySelector<HTMLElement>('[role="radio"]')?.focus() },
                )
              }
              options={options}
              value={field.value}
              onChange={(value) => {
                field.onChange(value)
                form.clearErrors(['choice', 'typed'])
              }}
              labelledBy={title}
              describedBy={error ? `${title}-error` : undefined}
              invalid={error !== undefined}
            />
            {error ? <ErrorLine id={`${title}-error`}>{error}</ErrorLine> : null}
          </div>
        )}
      />
      {choice === otherAmount ? (
        <Controller
          control={form.control}
          name="typed"
          render={({ field }) => (
            <Field label="Amount" className="mt-5" note={note} error={fieldError(form, 'typed')}>
              {(control) => (
                <MoneyInput
                  {...control}
                  ref={field.ref}
                  value={field.value}
                  onChange={(value) => {
                    field.onChange(value)
                    form.clearErrors('typed')
                  }}
                  onBlur={() => {
                    field.onBlur()
                    if (field.value !== '') afterPress(() => void form.trigger('typed'))
                  }}
                />
              )}
            </Field>
          )}
        />
      ) : (
        <p className="mt-2 text-compact text-muted-foreground empty:hidden">
          {noteOfChoice(choice, note, options)}
        </p>
      )}
    </section>
  )
}

function Understood({ form }: { form: Form }) {
  const id = useId()
  const error = fieldError(form, 'understood')
  return (
    <div className="flex flex-col gap-3 border-t border-input pt-4">
      <RiskLine className="text-body" />
      <Controller
        control={form.control}
        name="understood"
        render={({ field }) => (
          <div className="flex flex-col gap-1">
            <span className="flex items-center gap-3">
              <Checkbox
                id={id}
                ref={field.ref}
                checked={field.value}
                aria-invalid={error ? true : undefined}
                aria-describedby={error ? `${id}-error` : undefined}
                onCheckedChange={(checked) => {
                  field.onChange(checked === true)
                  form.clearErrors('understood')
                }}
              />
              <Label htmlFor={id} className="py-2">
                I understand
              </Label>
            </span>
            {error ? <ErrorLine id={`${id}-error`}>{error}</ErrorLine> : null}
          </div>
        )}
      />
    </div>
  )
}
