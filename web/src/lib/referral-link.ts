import { paths } from './paths'

/** The sign-up address that makes whoever uses it a direct referral of this profile. */
export function referralLink(profileId: string): string {
  return `${location.origin}${paths.signUp}?ref=${encodeURIComponent(profileId)}`
}

/** The code in what was typed or pasted, be it a whole link or a name with its @. */
export function codeIn(typed: string): string {
  const text = typed.trim()
  const [address = ''] = text.split('#')
  const query = address.slice(address.indexOf('?') + 1)
  const code = address.includes('?') ? new URLSearchParams(query).get('ref')?.trim() : undefined
  return code || text.replace(/^@/, '')
}
