import type { AuthChangeEvent, Session } from '@supabase/supabase-js'
import { arrival, arrivedAt } from './arrival'
import { claimsOf } from './claims'
import { readConfig } from './config'
import { createdAccount } from './created-account'
import { discardDrafts } from './draft'
import { byRefreshToken, endRecovery, linkOffer, linkTypeOf, takeLink } from './link-session'
import { sessionEnd } from './session-end'
import { Store } from './store'
import { stored } from './stored'
import { memberClient, type Client } from './supabase'

interface SessionState {
  /**
   * loading: not read yet. none: nobody is signed in. code: the password was right, the second factor is
   * still owed. member: signed in. ended: a session ran out under an open page, which stays as it is.
   */
  status: 'loading' | 'none' | 'code' | 'member' | 'ended'
  userId: string | null
  email: string | null
  /** An address that waits for its confirmation link. */
  newEmail: string | null
  /** The type of the mail link that opened this session, as far as this tab knows. */
  linkType: string | null
  /** Why the member was signed out, when the server said why. */
  notice: string | null
  /** The server's word for why the session ended; empty when it gave none. */
  endedBy: string
  /** The notice is of the member's own act. */
  closed: boolean
  /** The member has just signed out: the page is about to be left, and does not ask to sign in. */
  left: boolean
}

const nobody: SessionState = {
  status: 'none',
  userId: null,
  email: null,
  newEmail: null,
  linkType: null,
  notice: null,
  endedBy: '',
  closed: false,
  left: false,
}
const store = new Store<SessionState>({ ...nobody, status: 'loading' })
let leaving = false
let started: Promise<void> | undefined

function owesCode(session: Session): boolean {
  const verified = session.user.factors?.some((factor) => factor.status === 'verified') ?? false
  if (!verified) return false
  return claimsOf(session.access_token).aal !== 'aal2'
}

/** What the address brought comes first, so that no page decides before. */
async function receive(client: Client): Promise<void> {
  const { refreshToken, linkType } = arrival
  if (!refreshToken) return
  try {
    const open = byRefreshToken(refreshToken)
    linkOffer.set(await takeLink(client, { type: linkType, address: arrivedAt, open }))
  } catch (error) {
    console.error(error)
  }
}

/**
 * The session that a member left on purpose, for the other tabs: an open page must not stay readable there, and what
 * another tab still finds of the session while it is being ended is none.
 */
const leftKey = 'signed-out-of'

function wasLeft(session: Session): boolean {
  const id = claimsOf(session.access_token).session_id
  return id !== undefined && id === stored.get(leftKey)
}

function saidOnLeaving({ notice, endedBy, closed, left }: SessionState) {
  return { notice, endedBy, closed, left }
}

/** What another tab stored may be seen here a moment after that tab has said so. */
const settling = { everyMilliseconds: 50, times: 40 }

/** Whether a page of the member's may stand here. */
function isOpen({ status }: SessionState): boolean {
  return status === 'member' || status === 'code' || status === 'ended'
}

function follow(event: AuthChangeEvent, found: Session | null, asked = 0): void {
  const session = found && wasLeft(found) ? null : found
  if (session && storedUserId() !== session.user.id && asked < settling.times) {
    setTimeout(() => follow(event, session, asked + 1), settling.everyMilliseconds)
    return
  }
  if (session) {
    leaving = false
    createdAccount.clear()
    const { id, email, new_email: newEmail } = session.user
    store.set({
      status: owesCode(session) ? 'code' : 'member',
      userId: id,
      email: email ?? null,
      newEmail: newEmail ?? null,
      linkType: linkTypeOf(session),
      notice: null,
      endedBy: '',
      closed: false,
      left: false,
    })
    return
  }
  const before = store.get()
  // Said more than once, it stays an ended session, whose page stays too.
  const unasked = event === 'SIGNED_OUT' && !leaving && isOpen(before)
  store.set(unasked ? { ...before, status: 'ended' } : { ...nobody, ...saidOnLeaving(before) })
}

function followOtherTabs(): void {
  addEventListener('storage', ({ key, newValue }) => {
    const { status } = store.get()
    if (key !== leftKey || newValue === null || status === 'none' || status === 'loading') return
    leaving = true
    store.set(nobody)
  })
}

function storageKey(): string {
  const host = new URL(readConfig().supabaseUrl).hostname.split('.')[0] ?? ''
  return `sb-${host}-auth-token`
}

/** Whether this browser keeps a session, or the address brought one. */
export function hasStoredSession(): boolean {
  return (stored.get(storageKey()) ?? arrival.refreshToken) !== null
}

function kept(): Partial<Session> {
  try {
    return (JSON.parse(stored.get(storageKey()) ?? '{}') ?? {}) as Partial<Session>
  } catch {
    return {}
  }
}

/** Whose session this browser keeps now, whichever tab wrote it. */
export function storedUserId(): string | null {
  return kept().user?.id ?? null
}

/** The session of the member, followed from the auth client. */
export const memberSession = {
  get: store.get,
  first: store.first,
  subscribe: store.subscribe,

  /** Reads the session, and what a mail link brought, once. Later calls wait for the same reading. */
  start(): Promise<void> {
    started ??= memberClient().then(async (client) => {
      followOtherTabs()
      await receive(client)
      client.auth.onAuthStateChange((event, session) => follow(event, session))
      const { data } = await client.auth.getSession()
      if (store.get().status === 'loading') follow('INITIAL_SESSION', data.session)
    })
    return started
  },

  /** Starts only when there is something to read, so that a visitor's page stays light. */
  startIfStored(): void {
    if (hasStoredSession()) void this.start()
    else if (!started) store.set(nobody)
  },

  /** Looks whether somebody signed in in another tab, whose word may have been missed while this one slept. */
  async look(): Promise<void> {
    await this.start()
    if (store.get().status !== 'none' || !storedUserId()) return
    const { data } = await (await memberClient()).auth.getSession()
    if (data.session) follow('SIGNED_IN', data.session)
  },

  /** Takes the session that a code of an email opens. False where the person is asked first. */
  async take(key: Parameters<typeof takeLink>[1]): Promise<boolean> {
    await this.start()
    const offer = await takeLink(await memberClient(), key)
    linkOffer.set(offer)
    return offer === null
  },

  /** Called before a sign-out the member asked for, so that it does not look like a lost session. */
  leave(notice: string | null = null, closed = false): void {
    leaving = true
    discardDrafts()
    const session = claimsOf(kept().access_token ?? '').session_id
    if (session && (notice === null || closed)) stored.set(leftKey, session)
    store.set({ ...store.get(), notice, closed, left: notice === null })
  },

  /** Drops the session of this browser even when the server could not be told. */
  forget(): void {
    stored.remove(storageKey())
    store.set({ ...nobody, ...saidOnLeaving(store.get()) })
  },

  /** Ends the session of this browser, and says why; whether the server answers makes no difference. */
  async drop(notice: string | null, closed = false): Promise<void> {
    this.leave(notice, closed)
    const client = await memberClient()
    await client.auth.signOut({ scope: 'local' }).catch(() => null)
    this.forget()
  },

  /** The new password is set. */
  endRecovery(): void {
    endRecovery()
    store.set({ ...store.get(), linkType: null })
  },

  clearNotice(): void {
    store.set({ ...store.get(), notice: null, endedBy: '', closed: false })
  },

  /** The server wants the second factor for this session. */
  demandCode(): void {
    if (store.get().status === 'member') store.set({ ...store.get(), status: 'code' })
  },
}

/** The page stays, and asks to sign in again. */
sessionEnd.listen(({ code, token }) => {
  const before = store.get()
  if (token === null) {
    store.set({ ...before, endedBy: code })
    return
  }
  // Another tab may have a newer one, of which this says nothing.
  const now = kept().access_token
  if (before.status !== 'member' || leaving || (now !== undefined && now !== token)) return
  // Left in storage, the auth client would find it there and report it as a new sign-in.
  stored.remove(storageKey())
  store.set({ ...before, status: 'ended', endedBy: code })
})
