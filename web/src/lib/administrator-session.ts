import { Store } from './store'
import { stored } from './stored'

export interface Administrator {
  id: string
  email: string
  full_name: string | null
  role: string
  is_active: boolean
  /** ISO times. */
  last_login: string | null
  created_at: string
  /** Signing in asks for a code too. */
  two_step: boolean
}

export interface AdministratorSession {
  session_token: string
  access_token: string
  /** ISO time after which the server refuses the token. */
  expires_at: string
  admin: Administrator
}

const key = 'harborline-admin-session'

function read(): AdministratorSession | null {
  const text = stored.get(key)
  if (!text) return null
  try {
    return JSON.parse(text) as AdministratorSession
  } catch {
    return null
  }
}

const store = new Store<AdministratorSession | null>(read(), null)

// Another tab that signs in or out changes this one too.
if (typeof addEventListener === 'function') {
  addEventListener('storage', (event) => {
    if (event.key === key) store.set(read())
  })
}

let idle = false
let left = false

/** The administrator's own sign-in, apart from any member's session of the same browser. */
export const administratorSession = {
  get: store.get,
  first: store.first,
  subscribe: store.subscribe,
  /** What the browser keeps now, whichever tab wrote it. */
  stored: read,
  /** The session while it has not run out, else null. The server decides; this only spares a request. */
  current(): AdministratorSession | null {
    const session = store.get()
    return session && new Date(session.expires_at).getTime() > Date.now() ? session : null
  },
  set(session: AdministratorSession): void {
    idle = false
    left = false
    stored.set(key, JSON.stringify(session))
    store.set(session)
  },
  /** What the account itself changed, such as its second step. */
  amend(change: Partial<Administrator>): void {
    const session = store.get()
    if (session) this.set({ ...session, admin: { ...session.admin, ...change } })
  },
  clear(): void {
    stored.remove(key)
    store.set(null)
  },
  /**
   * The person is signing out, or is not after all: nobody comes back to this page, and what the server rejects
   * meanwhile is no session that was lost.
   */
  leaving(isLeaving: boolean): void {
    left = isLeaving
  },
  left: (): boolean => left,
  /** Ends the session because nobody was there; the sign-in page says so. */
  endIdle(): void {
    idle = true
    this.clear()
  },
  endedIdle: (): boolean => idle,
}
