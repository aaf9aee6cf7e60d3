import { z } from '@/lib/zod'

export interface PasswordValues {
  current: string
  next: string
  again: string
  /** Six digits; empty while the account has no second step. */
  code: string
}

const required = 'All fields are required'
const shortest = 8

/** An administrator's own password: eight characters at least, and twice the same. */
export const passwordSchema = z
  .object({
    current: z.string().min(1, required),
    next: z.string().min(1, required),
    again: z.string().min(1, required),
    code: z.string(),
  })
  .superRefine(({ next, again }, context) => {
    if (next !== again) {
      context.addIssue({ code: 'custom', path: ['again'], message: 'New passwords do not match' })
    } else if (next.length < shortest) {
      context.addIssue({
        code: 'custom',
        path: ['next'],
        message: 'New password must be at least 8 characters long',
      })
    }
  })
