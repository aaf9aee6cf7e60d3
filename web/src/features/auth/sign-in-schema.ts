import { z } from '@/lib/zod'

export const signInSchema = z.object({
  email: z.email('Enter your email address'),
  password: z.string().min(1, 'Enter your password'),
})

export type SignInValues = z.infer<typeof signInSchema>
