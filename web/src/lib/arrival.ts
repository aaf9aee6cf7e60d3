import { hasTokens } from './paths'

/** What the address bar brought when the page was opened: the fragment of a link from a mail. */
export interface Arrival {
  /** 'signup', 'recovery', 'email_change' when a mail link brings a session. */
  linkType: string | null
  /** The session that the link brings. It decides by itself whose it is; the other token only says so. */
  refreshToken: string | null
  /** GoTrue's error code when a mail link was refused. */
  error: string | null
  /** A sentence the auth service sent along, such as that the other address must confirm too. */
  message: string | null
}

export function readArrival(fragment: string): Arrival {
  const given = new URLSearchParams(fragment.replace(/^#/, ''))
  return {
    linkType: given.has('refresh_token') ? given.get('type') : null,
    refreshToken: given.get('refresh_token'),
    error: given.get('error_code') ?? given.get('error'),
    message: given.get('message'),
  }
}

const nowhere = { pathname: '/', search: '', hash: '' }
const { pathname, search, hash } = typeof location === 'undefined' ? nowhere : location

/** The page that was opened, without the fragment. */
export const arrivedAt = pathname + search

export const arrival = readArrival(hash)

// Before the router, the auth client or a reload can read the tokens: what becomes of them is decided once.
if (hasTokens(hash)) history.replaceState(history.state, '', arrivedAt)
