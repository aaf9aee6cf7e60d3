/** What an administrator may do, from least to most. */
export const roles = ['support_admin', 'finance_admin', 'super_admin'] as const

export type Role = (typeof roles)[number]

/** "finance_admin" as people read it. */
export function roleWord(role: string): string {
  return role.replaceAll('_', ' ')
}
