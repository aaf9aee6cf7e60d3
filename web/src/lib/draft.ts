import { useEffect, useState } from 'react'
import { storedInTab } from './stored'

const prefix = 'draft:'

function read<T extends object>(key: string): Partial<T> {
  try {
    return (JSON.parse(storedInTab.get(prefix + key) ?? 'null') as Partial<T> | null) ?? {}
  } catch {
    return {}
  }
}

/** What was typed before this page was loaded, over the empty form; `key` names the form and the account. */
export function useSavedDraft<T extends object>(key: string, empty: T): T {
  const [values] = useState(() => ({ ...empty, ...read<T>(key) }))
  return values
}

/**
 * Keeps what is typed in this tab until the form is as empty as it was: a reload, a crash or a session that ended
 * loses nothing. Not for passwords. Returns whether anything is typed.
 */
export function useDraft<T extends object>(key: string, values: T, empty: T): boolean {
  const text = JSON.stringify(values)
  const isStarted = (Object.keys(empty) as (keyof T)[]).some(
    (name) => JSON.stringify(values[name]) !== JSON.stringify(empty[name]),
  )
  useEffect(() => {
    if (isStarted) storedInTab.set(prefix + key, text)
    else storedInTab.remove(prefix + key)
  }, [key, text, isStarted])
  return isStarted
}

/** Whoever uses this tab next finds nothing of it. */
export function discardDrafts(): void {
  storedInTab.removeAll(prefix)
}

export function discardDraft(key: string): void {
  storedInTab.remove(prefix + key)
}
