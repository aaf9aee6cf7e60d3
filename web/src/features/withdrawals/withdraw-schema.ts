import { z } from '@/lib/zod'
import { amountProblem } from '@/components/money-input'
import { compare, formatMoney, parseAmount, type Decimal } from '@/lib/money'
import type { WithdrawOptions } from './api'

export interface WithdrawValues {
  amount: string
}

export const notVerifiedText = 'Please complete your profile, settings, and account verification first'

export function typedAmount(typed: string): Decimal | null {
  const read = parseAmount(typed)
  return 'value' in read ? read.value : null
}

/** In the server's order: an amount at all, the balance, the minimum, the account. null when all is right. */
export function withdrawProblem(
  typed: string,
  options: Pick<WithdrawOptions, 'balance' | 'minimum' | 'verification'>,
): string | null {
  const amount = typedAmount(typed)
  if (amount === null) return amountProblem(typed)
  if (compare(amount, '0') <= 0) return 'Enter an amount above $0.00'
  const { requestable } = options.balance
  if (compare(amount, requestable) > 0) return `Insufficient balance. Available: ${formatMoney(requestable)}`
  if (compare(amount, options.minimum) < 0) {
    return `Minimum withdrawal amount is ${formatMoney(options.minimum).replace('.00', '')}`
  }
  return options.verification.canWithdraw ? null : notVerifiedText
}

export function withdrawSchema(options: WithdrawOptions) {
  return z.object({ amount: z.string() }).superRefine((values, context) => {
    const problem = withdrawProblem(values.amount, options)
    if (problem !== null) context.addIssue({ code: 'custom', path: ['amount'], message: problem })
  })
}
