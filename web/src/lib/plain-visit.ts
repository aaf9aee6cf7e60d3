import { administratorSession } from './administrator-session'
import { publicPages } from './paths'
import { referral } from './referral'
import { hasStoredSession } from './session'

/**
 * Whether the page can be what the build wrote: one of the public pages, opened by somebody of whom this browser and
 * the address know nothing. Any other page is drawn anew over it.
 */
export function isPlainVisit(): boolean {
  return (
    publicPages.includes(location.pathname) &&
    location.search === '' &&
    location.hash === '' &&
    document.getElementById('root')?.firstElementChild != null &&
    !hasStoredSession() &&
    administratorSession.get() === null &&
    referral.read().length === 0
  )
}
