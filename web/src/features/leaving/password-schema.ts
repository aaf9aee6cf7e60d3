import { z } from '@/lib/zod'

export interface PasswordValues {
  password: string
}

export const passwordSchema = z.object({ password: z.string().min(1, 'Enter your password') })
