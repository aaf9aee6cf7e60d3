import { useCallback } from 'react'
import { useSearchParams, type NavigateOptions } from 'react-router'

/**
 * The address's parameters, and how to change them.
 *
 * A change starts from what the address says when it is made, not from what was drawn last: a search that waits for
 * the next key must not take back what was opened meanwhile.
 */
export function useAddress() {
  const [parameters, setParameters] = useSearchParams()
  const change = useCallback(
    (edit: (present: URLSearchParams) => URLSearchParams, options: NavigateOptions = {}) =>
      setParameters(() => edit(new URLSearchParams(window.location.search)), {
        preventScrollReset: true,
        ...options,
      }),
    [setParameters],
  )
  return [parameters, change] as const
}

/** A copy with one parameter set, or without it when there is no value. */
export function put(present: URLSearchParams, key: string, value: string | null): URLSearchParams {
  const next = new URLSearchParams(present)
  if (value === null) next.delete(key)
  else next.set(key, value)
  return next
}
