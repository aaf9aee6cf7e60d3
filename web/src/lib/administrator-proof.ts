import { Store } from './store'

/** What waits for the person to sign in again. */
interface Question {
  answer: (proved: boolean) => void
}

const store = new Store<Question | null>(null)
let asked: Promise<boolean> | null = null

/** The question whether the administrator is still there, which a dialog over the page puts (features/administrators). */
export const administratorProof = {
  get: store.get,
  first: store.first,
  subscribe: store.subscribe,
  /** False when the person would rather not. Calls that ask meanwhile wait for the same answer. */
  ask(): Promise<boolean> {
    asked ??= new Promise<boolean>((resolve) => {
      store.set({
        answer: (proved) => {
          asked = null
          store.set(null)
          resolve(proved)
        },
      })
    })
    return asked
  },
}
