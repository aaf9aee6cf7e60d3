import { Store } from './store'
import { storedInTab } from './stored'

const key = 'asked-reset'
/** As long as the code of the email is good. */
const lifetime = 3_600_000

interface AskedReset {
  email: string
  /** Milliseconds. */
  at: number
}

function read(): AskedReset | null {
  try {
    const kept = JSON.parse(storedInTab.get(key) ?? 'null') as AskedReset | null
    return kept && Date.now() - kept.at < lifetime ? kept : null
  } catch {
    return null
  }
}

const store = new Store<AskedReset | null>(read(), null)

/** The email to set a new password that this tab waits for: a phone may load the page anew after a look at the mail. */
export const askedReset = {
  get: store.get,
  first: store.first,
  subscribe: store.subscribe,

  set(asked: AskedReset): void {
    storedInTab.set(key, JSON.stringify(asked))
    store.set(asked)
  },

  clear(): void {
    storedInTab.remove(key)
    store.set(null)
  },
}
