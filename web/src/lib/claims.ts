export interface Claims {
  aal?: string
  session_id?: string
  amr?: { method: string }[]
}

/** What an access token says, unproven; nothing when it cannot be read. */
export function claimsOf(token: string): Claims {
  const payload = token.split('.')[1] ?? ''
  try {
    return JSON.parse(atob(payload.replaceAll('-', '+').replaceAll('_', '/'))) as Claims
  } catch {
    return {}
  }
}
