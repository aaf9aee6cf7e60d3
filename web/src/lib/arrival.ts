/**
 * What the address bar brought when the page was opened. A link from a mail ends in a fragment that the
 * auth client reads and removes, so it is read here first, before any guard looks at the session.
 */
export interface Arrival {
  /** 'signup', 'recovery', 'email_change' when a mail link signed the visitor in. */
  linkType: string | null
  /** GoTrue's error code when a mail link was refused. */
  error: string | null
  /** A sentence the auth service sent along, such as that the other address must confirm too. */
  message: string | null
}

export function readArrival(fragment: string): Arrival {
  const given = new URLSearchParams(fragment.replace(/^#/, ''))
  return {
    linkType: given.has('access_token') ? given.get('type') : null,
    error: given.get('error_code') ?? given.get('error'),
    message: given.get('message'),
  }
}

export const arrival: Arrival = readArrival(typeof location === 'undefined' ? '' : location.hash)
