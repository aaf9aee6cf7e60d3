const elsewhere =
  'It was ended on another device, or by a change of your password or of your two-step sign-in.'

const reasons: Record<string, string> = {
  session_expired: 'A session ends after 30 days without use, and 180 days after signing in.',
  session_ended: elsewhere,
  refresh_token_not_found: elsewhere,
  refresh_token_already_used:
    'It was used in two places at once. If you do not know why, change your password after signing in.',
}

/** Why a session ended, by the server's word for it; null where that is not known. */
export function endedReason(code: string): string | null {
  return reasons[code] ?? null
}
