import { useState } from 'react'
import { v7 as timeOrderedId } from 'uuid'
import { storedInTab } from './stored'

interface Attempt {
  answers: string
  id: string
}

interface RequestId {
  /** The id of these answers; the same one until they change or are forgotten. */
  of: (answers: unknown) => string
  /** The id of the attempt of which nobody knows yet whether it arrived; null without one. */
  open: () => string | null
  /** Called once the server has spoken: the same answers are a new request from then on. */
  forget: () => void
}

function read(key: string): Attempt | null {
  try {
    return JSON.parse(storedInTab.get(key) ?? 'null') as Attempt | null
  } catch {
    return null
  }
}

/**
 * Keeps one id for one set of answers, so that sending them again makes no second request; in this tab, so that a
 * reload does not either. `name` tells the form and the account.
 */
export function useRequestId(name: string): RequestId {
  const key = `request:${name}`
  const [ids] = useState((): RequestId => {
    let attempt = read(key)
    return {
      of: (answers) => {
        const text = JSON.stringify(answers)
        if (attempt?.answers !== text) attempt = { answers: text, id: timeOrderedId() }
        storedInTab.set(key, JSON.stringify(attempt))
        return attempt.id
      },
      open: () => attempt?.id ?? null,
      forget: () => {
        attempt = null
        storedInTab.remove(key)
      },
    }
  })
  return ids
}
