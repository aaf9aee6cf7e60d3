import { paths } from './paths'

/** The sign-up address that makes whoever uses it a direct referral of this profile. */
export function referralLink(profileId: string): string {
  return `${location.origin}${paths.signUp}?ref=${encodeURIComponent(profileId)}`
}
