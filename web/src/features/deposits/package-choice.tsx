import type { Ref } from 'react'
import { Money } from '@/components/money'
import { RadioGroup, RadioRow } from '@/components/ui/radio-group'
import { formatPercent } from '@/lib/money'
import { cashInText } from './amount'
import type { DepositOptions } from './api'

/** The value of the row that lets a member type an amount. */
export const otherAmount = 'other'

interface PackageChoiceProps {
  options: DepositOptions
  value: string
  onChange: (value: string) => void
  describedBy: string | undefined
  invalid: boolean
  labelledBy: string
  ref: Ref<HTMLDivElement>
}

/** What completes the package, the packages a member may pay for now, then, with a package, any other amount. */
export function PackageChoice({
  options,
  value,
  onChange,
  describedBy,
  invalid,
  labelledBy,
  ref,
}: PackageChoiceProps) {
  const { missingCashIn: missing } = options.verification
  return (
    <RadioGroup
      ref={ref}
      value={value}
      onValueChange={onChange}
      aria-labelledby={labelledBy}
      aria-describedby={describedBy}
      aria-invalid={invalid ? true : undefined}
    >
      {missing === null ? null : (
        <RadioRow
          value={missing}
          label={options.verification.stepMessage}
          hint={cashInText}
          trailing={<Money value={missing} />}
        />
      )}
      {options.choices.map((choice) => (
        <RadioRow
          key={choice.value}
          value={choice.value}
          label={choice.kind === 'upgrade' ? `Upgrade to ${choice.label}` : choice.label}
          hint={`Pairing rate ${formatPercent(choice.rate)}`}
          trailing={<Money value={choice.value} />}
        />
      ))}
      {options.other_amount_allowed ? (
        <RadioRow value={otherAmount} label="Other amount" hint={cashInText} />
      ) : null}
    </RadioGroup>
  )
}
