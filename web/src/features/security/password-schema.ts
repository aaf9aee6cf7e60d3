import { isEasyToGuess, tooEasy } from '@/lib/easy-password'
import { z } from '@/lib/zod'

export interface PasswordValues {
  current: string
  next: string
  again: string
}

export const texts = {
  required: 'All fields are required',
  mismatch: 'Password mismatch',
  short: 'Password too short',
  same: 'Same password',
}

const shortest = 6

/** The member's own password: six characters at least, twice the same, and not the one there is. */
export const passwordSchema = z
  .object({
    current: z.string().min(1, texts.required),
    next: z.string().min(1, texts.required),
    again: z.string().min(1, texts.required),
  })
  .superRefine((values, context) => {
    const complain = (path: keyof PasswordValues, message: string) =>
      context.addIssue({ code: 'custom', path: [path], message })
    if (values.next !== values.again) complain('again', texts.mismatch)
    else if (values.next.length < shortest) complain('next', texts.short)
    else if (isEasyToGuess(values.next)) complain('next', tooEasy)
    else if (values.next === values.current) complain('next', texts.same)
  })
