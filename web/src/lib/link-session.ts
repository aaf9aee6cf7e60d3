import type { Session } from '@supabase/supabase-js'
import { fetchAccount, type Account } from './account'
import { claimsOf } from './claims'
import { Store } from './store'
import { storedInTab } from './stored'
import { linkClient, type Client } from './supabase'

/** A link, or a code, of an email. */
interface MailKey {
  type: string | null
  /** The page that it leads to. */
  address: string
  /** Exchanges it, apart from the page's own client. Null when it is worth nothing. */
  open: (apart: Client) => Promise<Session | null>
}

/** Exchanges the refresh token that a link brought, which alone says whose it is. */
export function byRefreshToken(refreshToken: string): MailKey['open'] {
  return async (apart) => (await apart.auth.refreshSession({ refresh_token: refreshToken })).data.session
}

/** A session that a link brought while another account is signed in; it waits for the person's word. */
export interface LinkOffer {
  /** The page that the link leads to. */
  address: string
  account: Account & { email: string | null }
  /** Signs in, unless somebody else than `asked` is signed in by now; then it is to be asked anew. */
  accept: (asked: string | null) => Promise<boolean>
  /** Ends the link's session. */
  decline: () => Promise<void>
}

/** What the page has to ask. */
export const linkOffer = new Store<LinkOffer | null>(null)

const recoveryKey = 'recovery-session'
let opened: { session: string | undefined; type: string | null } | null = null

/** Notes which link opened a session; a recovery must survive a reload of its page. */
function note(session: Session, type: string | null): void {
  const id = claimsOf(session.access_token).session_id
  opened = { session: id, type }
  if (id && type === 'recovery') storedInTab.set(recoveryKey, id)
}

/**
 * The type of the link that opened this session, as far as this tab knows. The service writes `otp` for every
 * link with tokens, so that a recovery is known by that and by the address the link led to. It decides what a page
 * offers; whether a password may be set is decided by the server.
 */
export function linkTypeOf({ access_token: token }: Pick<Session, 'access_token'>): string | null {
  const { session_id: id, amr = [] } = claimsOf(token)
  const methods = amr.map((entry) => entry.method)
  if (methods.includes('recovery')) return 'recovery'
  if (id === undefined || !methods.includes('otp')) return null
  if (storedInTab.get(recoveryKey) === id) return 'recovery'
  return opened?.session === id ? opened.type : null
}

/** A recovery is good for one new password. */
export function endRecovery(): void {
  storedInTab.remove(recoveryKey)
  opened = null
}

async function namesOf(client: Client, userId: string): Promise<Account> {
  // A second factor may be owed or the account blocked: then its address has to do.
  return fetchAccount(client, userId).catch(() => ({ userId, displayName: null, username: null }))
}

/**
 * Takes the session that a link or a code opens. It becomes the page's session where nobody or the same account is
 * signed in; otherwise it is offered.
 */
export async function takeLink(
  client: Client,
  link: MailKey,
  openClient: () => Promise<Client> = linkClient,
): Promise<LinkOffer | null> {
  const apart = await openClient()
  const session = await link.open(apart)
  if (!session) return null

  async function become(): Promise<void> {
    if (!session) return
    note(session, link.type)
    const { error } = await client.auth.setSession(session)
    if (error) throw error
  }

  const holder = async () => {
    const { data, error } = await client.auth.getSession()
    if (error) throw error
    return data.session?.user.id ?? null
  }
  const now = await holder()
  if (now === null || now === session.user.id) {
    await become()
    return null
  }
  return {
    address: link.address,
    account: { ...(await namesOf(apart, session.user.id)), email: session.user.email ?? null },
    accept: async (asked) => {
      if ((await holder()) !== asked) return false
      await become()
      return true
    },
    decline: async () => {
      await apart.auth.signOut({ scope: 'local' })
    },
  }
}
