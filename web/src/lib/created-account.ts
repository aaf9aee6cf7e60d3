import { Store } from './store'
import { storedInTab } from './stored'

const key = 'created-account'
/** As long as the server keeps the username of an account that is not confirmed. */
const lifetime = 24 * 3_600_000

/** What a sign-up leaves behind for the next one: everything but the password and the confirmation. */
export interface CreatedAccount {
  /** The sponsor. */
  referrerId: string
  displayName: string
  username: string
  email: string
  createdAt: number
}

function read(): CreatedAccount | null {
  try {
    const kept = JSON.parse(storedInTab.get(key) ?? 'null') as CreatedAccount | null
    return kept && Date.now() - kept.createdAt < lifetime ? kept : null
  } catch {
    return null
  }
}

const store = new Store<CreatedAccount | null>(read(), null)

/** The account that was created in this tab and waits for its mail to be opened. */
export const createdAccount = {
  get: store.get,
  first: store.first,
  subscribe: store.subscribe,

  set(account: CreatedAccount): void {
    storedInTab.set(key, JSON.stringify(account))
    store.set(account)
  },

  /** Somebody is signed in: nothing waits any more. */
  clear(): void {
    storedInTab.remove(key)
    store.set(null)
  },
}
