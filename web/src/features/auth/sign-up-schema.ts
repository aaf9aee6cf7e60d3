import { isEasyToGuess, tooEasy } from '@/lib/easy-password'
import { codeIn } from '@/lib/referral-link'
import { usernamePattern } from '@/lib/use-username-check'
import { z } from '@/lib/zod'
import { invalidCode } from './sign-up-trouble'
import { tooShort } from './strength'

/** In the order of the form: the sponsor comes first, and its error is the first to be read. */
export function signUpSchema(isUnknownCode: (code: string) => boolean) {
  const form = z.object({
    referral: z
      .string()
      .overwrite(codeIn)
      .min(1, 'Referral code is required for registration')
      .refine((code) => !isUnknownCode(code), invalidCode),
    displayName: z.string().trim().min(1, 'Enter your full name').max(80, 'Use at most 80 characters'),
    username: z.string().trim().regex(usernamePattern, 'Use 3 to 30 letters, digits or underscores.'),
    email: z.string().trim().pipe(z.email('Enter your email address')),
    password: z.string().min(6, tooShort),
    read: z.boolean().refine((read) => read, 'Confirm that you have read the Terms and the Risk page.'),
  })
  return form.refine(({ password, username, email }) => !isEasyToGuess(password, username, email), {
    path: ['password'],
    message: tooEasy,
  })
}

export type SignUpValues = z.infer<ReturnType<typeof signUpSchema>>
