import { usernamePattern } from '@/lib/use-username-check'
import { z } from '@/lib/zod'
import { tooShort } from './strength'

export const signUpSchema = z.object({
  displayName: z.string().trim().min(1, 'Enter your full name').max(100, 'Use at most 100 characters'),
  username: z.string().regex(usernamePattern, 'Use 3 to 30 letters, digits or underscores.'),
  email: z.email('Enter your email address'),
  password: z.string().min(6, tooShort),
  read: z.boolean().refine((read) => read, 'Confirm that you have read the Terms and the Risk page.'),
})

export type SignUpValues = z.infer<typeof signUpSchema>
