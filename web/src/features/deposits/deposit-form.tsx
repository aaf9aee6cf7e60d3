import { useId, useMemo, useState, type ReactNode } from 'react'
import { Controller, useWatch } from 'react-hook-form'
import { Link } from 'react-router'
import { ActsFor } from '@/components/account-name'
import { ActionBar } from '@/components/action-bar'
import { ErrorLine, Field } from '@/components/field'
import { ErrorSummary, fieldError, fieldProps, useAppForm } from '@/components/form'
import { LeaveGuard } from '@/components/leave-guard'
import { Money } from '@/components/money'
import { MoneyInput } from '@/components/money-input'
import { RiskLine } from '@/components/risk-line'
import { Button } from '@/components/ui/button'
import { Checkbox } from '@/components/ui/checkbox'
import { Label } from '@/components/ui/label'
import { Textarea } from '@/components/ui/input'
import type { Account } from '@/lib/account'
import type { Decimal } from '@/lib/money'
import { paths } from '@/lib/paths'
import type { Platform } from '@/lib/platform'
import { toasts } from '@/lib/toast-queue'
import { useOnline } from '@/lib/use-online'
import { useRequestId } from '@/lib/use-request-id'
import { explainMeaning, readAmount } from './amount'
import { useCreateDeposit, type DepositOptions } from './api'
import { DepositReview } from './deposit-review'
import { amountOf, depositSchema, emptyDeposit, type DepositValues } from './deposit-schema'
import { DepositSummary, outcomeOf } from './deposit-summary'
import { otherAmount, PackageChoice } from './package-choice'
import { ReceiptField } from './receipt-field'

interface DepositFormProps {
  account: Account
  options: DepositOptions
  platform: Platform
  /** For the summary beside the form; null while unknown. */
  balance: Decimal | null
  /** What stands above the fields: the guide and the address. */
  children: ReactNode
}

export function DepositForm({ account, options, platform, balance, children }: DepositFormProps) {
  const { packages, limits } = platform
  const schema = useMemo(() => depositSchema(options, packages, limits), [options, packages, limits])
  // The last package leaves only one way to deposit; it need not be chosen.
  const first = options.choices.length === 0 ? { ...emptyDeposit, choice: otherAmount } : emptyDeposit
  const form = useAppForm<DepositValues>(schema, first)
  const [reviewing, setReviewing] = useState<DepositValues | null>(null)
  const [round, setRound] = useState(0)
  const [file, setFile] = useState<File | null>(null)
  const requestId = useRequestId()
  const create = useCreateDeposit()
  const online = useOnline()
  const offline = useId()
  const [choice, typed] = useWatch({ control: form.control, name: ['choice', 'typed'] })
  const amount = amountOf({ choice, typed })
  const outcome = outcomeOf(amount, options, packages)

  async function submit(values: DepositValues) {
    const answers = {
      amount: amountOf(values) ?? '0',
      reference: values.reference.trim(),
      receiptUrl: values.receiptUrl,
    }
    try {
      await create.mutateAsync({ id: requestId.of(answers), userId: account.userId, ...answers })
      requestId.forget()
    } catch (error) {
      toasts.error('Failed to submit deposit request. Please try again.', { money: true })
      throw error
    }
    toasts.success('Deposit request submitted successfully! Admin will review and process your deposit.', {
      money: true,
    })
    setReviewing(null)
    form.reset(first)
    setFile(null)
    setRound(round + 1)
    window.scrollTo({ top: 0 })
  }

  return (
    <div className="flex gap-16">
      <form
        noValidate
        aria-label="Deposit request"
        className="flex w-full max-w-[560px] min-w-0 flex-col gap-8 md:gap-10"
        onSubmit={(event) => void form.handleSubmit((values) => setReviewing(values))(event)}
      >
        <LeaveGuard when={form.formState.isDirty && reviewing === null} />
        <ErrorSummary form={form} />
        {children}
        <AmountSection form={form} options={options} packages={packages} />
        <section aria-labelledby="proof" className="flex flex-col gap-5">
          <h2 id="proof" className="-mb-3 text-section">
            Proof of payment
          </h2>
          <Field
            label="Reference number"
            hint="The transaction hash, or the exchange’s number for this transfer."
            error={fieldError(form, 'reference')}
          >
            {(control) => (
              <Textarea
                {...control}
                {...fieldProps(form, 'reference')}
                rows={1}
                autoComplete="off"
                autoCapitalize="none"
                spellCheck={false}
                className="min-h-11 resize-none font-mono break-all md:text-body"
              />
            )}
          </Field>
          <ReceiptField
            key={round}
            form={form}
            pdf={options.other_amount_allowed}
            maxBytes={limits.receipt_max_bytes}
            onFile={setFile}
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
          <Button
            type="submit"
            aria-disabled={!online}
            aria-describedby={online ? undefined : offline}
            onClick={(event) => !online && event.preventDefault()}
          >
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
      </form>
      <DepositSummary amount={amount} outcome={outcome} options={options} balance={balance} />
      {reviewing ? (
        <DepositReview
          account={account}
          amount={amountOf(reviewing) ?? '0'}
          outcome={outcome}
          reference={reviewing.reference.trim()}
          file={file}
          onClose={() => setReviewing(null)}
          onConfirm={() => submit(reviewing)}
        />
      ) : null}
    </div>
  )
}

type Form = ReturnType<typeof useAppForm<DepositValues>>

interface AmountSectionProps {
  form: Form
  options: DepositOptions
  packages: Platform['packages']
}

function AmountSection({ form, options, packages }: AmountSectionProps) {
  const title = useId()
  const [choice, typed] = useWatch({ control: form.control, name: ['choice', 'typed'] })
  const amount = amountOf({ choice, typed })
  const note = amount === null ? null : explainMeaning(readAmount(amount, packages, options.package_value))
  const error = fieldError(form, 'choice')
  const upgrading = options.other_amount_allowed
  return (
    <section aria-labelledby={title}>
      <h2 id={title} className="text-section">
        {upgrading ? 'Upgrade or other amount' : 'Choose a package'}
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
                    if (field.value !== '') void form.trigger('typed')
                  }}
                />
              )}
            </Field>
          )}
        />
      ) : (
        <p className="mt-2 text-compact text-muted-foreground">
          {upgrading
            ? (note ??
              'An upgrade costs the full price of the higher package. What you paid before is not deducted.')
            : 'You can move to a higher package later, at its full price. Never to a lower one.'}
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
