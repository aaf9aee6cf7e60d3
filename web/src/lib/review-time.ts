type RequestKind = 'deposit' | 'withdrawal'

/** Hours within which members are told that a request is usually decided. */
const usualHours: Record<RequestKind, number> = { deposit: 24, withdrawal: 48 }

/** When a request that was sent then is usually decided. */
export function usuallyDecidedBy(kind: RequestKind, sentAt: string): Date {
  return new Date(new Date(sentAt).getTime() + usualHours[kind] * 60 * 60 * 1000)
}
