import { z } from '@/lib/zod'
import type { FileFacts } from '@/components/file-drop'
import { amountProblem } from '@/components/money-input'
import { compare, formatMoney, parseAmount, type Decimal } from '@/lib/money'
import type { Package } from '@/lib/platform'
import { readAmount } from './amount'
import type { DepositOptions } from './api'
import { otherAmount } from './package-choice'

export interface DepositValues {
  /** The value of a package, or `otherAmount`. */
  choice: string
  typed: string
  reference: string
  /** Public-URL form of the uploaded receipt. */
  receiptUrl: string
  receiptFile: FileFacts | null
  understood: boolean
}

export const emptyDeposit: DepositValues = {
  choice: '',
  typed: '',
  reference: '',
  receiptUrl: '',
  receiptFile: null,
  understood: false,
}

/** The amount these answers stand for; null while there is none. */
export function amountOf(values: Pick<DepositValues, 'choice' | 'typed'>): Decimal | null {
  if (values.choice !== otherAmount) return values.choice === '' ? null : values.choice
  const read = parseAmount(values.typed)
  return 'value' in read ? read.value : null
}

interface Limits {
  min_deposit: Decimal
  max_amount: Decimal
}

function typedProblem(
  typed: string,
  options: DepositOptions,
  packages: Package[],
  limits: Limits,
): string | null {
  const unread = amountProblem(typed)
  const amount = amountOf({ choice: otherAmount, typed })
  if (unread !== null || amount === null) return unread
  if (compare(amount, limits.min_deposit) < 0)
    return `The smallest deposit is ${formatMoney(limits.min_deposit)}`
  if (compare(amount, limits.max_amount) > 0)
    return `The largest deposit is ${formatMoney(limits.max_amount)}`
  const meaning = readAmount(amount, packages, options)
  return meaning.kind === 'refused' ? meaning.text : null
}

/** What a transfer is known by, before the server reads it. */
export const referenceRule = z
  .string()
  .trim()
  .min(1, 'Enter the reference number')
  .max(200, 'Use at most 200 characters')
  .regex(/[\p{L}\p{N}]/u, 'Enter the transaction hash or the exchange\u2019s number')

function unchosen({ other_amount_allowed: isOtherAllowed, choices, verification }: DepositOptions): string {
  if (!isOtherAllowed) return 'Choose a package'
  return verification.missingCashIn === null && choices.length > 0
    ? 'Choose an upgrade or another amount'
    : 'Choose an amount'
}

/** The rules a deposit is held to before it is reviewed; the server applies them again. */
export function depositSchema(options: DepositOptions, packages: Package[], limits: Limits) {
  return z
    .object({
      choice: z.string().min(1, unchosen(options)),
      typed: z.string(),
      reference: referenceRule,
      receiptUrl: z.string().min(1, 'Upload your receipt'),
      receiptFile: z.custom<FileFacts | null>(),
      understood: z.boolean().refine((value) => value, 'Confirm that you understand the risk'),
    })
    .superRefine((values, context) => {
      if (values.choice !== otherAmount) return
      const problem = typedProblem(values.typed, options, packages, limits)
      if (problem !== null) context.addIssue({ code: 'custom', path: ['typed'], message: problem })
    })
}
