import { z } from '@/lib/zod'

export const emailSchema = z.object({ email: z.email('Enter your email address') })

export type EmailValues = z.infer<typeof emailSchema>
