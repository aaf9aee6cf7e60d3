import { useMemo } from 'react'
import { useWatch } from 'react-hook-form'
import { useAppForm } from '@/components/form'
import type { Account } from '@/lib/account'
import { discardDraft, useDraft, useSavedDraft } from '@/lib/draft'
import type { Platform } from '@/lib/platform'
import type { DepositOptions } from './api'
import { amountOf, depositSchema, emptyDeposit, type DepositValues } from './deposit-schema'
import { outcomeOf } from './deposit-summary'
import { otherAmount } from './package-choice'

/** A package that was chosen in a draft may be held by now. */
function offered(values: DepositValues, options: DepositOptions, choice: string): DepositValues {
  const isOffered =
    options.verification.missingCashIn === values.choice ||
    options.choices.some(({ value }) => value === values.choice) ||
    (options.other_amount_allowed && values.choice === otherAmount)
  return isOffered ? values : { ...values, choice }
}

/** What is typed into the deposit form of this account, kept in this tab, and what it would do. */
export function useDepositForm(account: Account, options: DepositOptions, platform: Platform) {
  const { packages, limits } = platform
  const schema = useMemo(() => depositSchema(options, packages, limits), [options, packages, limits])
  // The last package leaves only one way to deposit; it need not be chosen.
  const isOnlyOther = options.choices.length === 0 && options.verification.missingCashIn === null
  const empty = isOnlyOther ? { ...emptyDeposit, choice: otherAmount } : emptyDeposit
  const key = `deposit:${account.userId}`
  const form = useAppForm<DepositValues>(schema, offered(useSavedDraft(key, empty), options, empty.choice))
  const values = useWatch({ control: form.control }) as DepositValues
  const isStarted = useDraft(key, values, empty)
  const amount = amountOf(values)
  return {
    form,
    isStarted,
    amount,
    outcome: outcomeOf(amount, options, packages),
    clear: () => form.reset(empty),
    discard: () => discardDraft(key),
  }
}

export type DepositFormState = ReturnType<typeof useDepositForm>
