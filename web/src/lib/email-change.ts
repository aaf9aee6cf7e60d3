import { queryOptions } from '@tanstack/react-query'
import { unwrap } from './errors'
import { memberKey } from './member'
import { memberClient } from './supabase'

/** A change of address that waits for its links: one was sent to each of the two addresses. */
export interface EmailChange {
  old_email: string
  new_email: string
  old_confirmed: boolean
  new_confirmed: boolean
}

/**
 * Null when no change waits any more: then the session, which was read when one did, is read again. Asked again on
 * coming back to the page, for a link is opened somewhere else.
 */
export const emailChangeQuery = queryOptions({
  queryKey: [memberKey, 'email-change'],
  queryFn: async (): Promise<EmailChange | null> => {
    const client = await memberClient()
    const change = unwrap(await client.rpc('get_email_change')) as EmailChange | null
    if (!change) await client.auth.refreshSession()
    return change
  },
  staleTime: 0,
  refetchOnWindowFocus: true,
})

/** Which links are still to be opened, and which address counts until then. */
export function emailChangeText(change: EmailChange): string {
  const { old_email: old, new_email: next } = change
  const until = `Until then we use ${old}.`
  if (!change.old_confirmed && !change.new_confirmed)
    return `Email changes once the links sent to ${old} and ${next} are both opened. ${until}`
  const [opened, left] = change.new_confirmed ? [next, old] : [old, next]
  return `The link sent to ${opened} was opened. Email changes once the one sent to ${left} is opened too. ${until}`
}
