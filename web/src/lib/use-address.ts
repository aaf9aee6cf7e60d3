import { useCallback } from 'react'
import { useNavigate, useSearchParams, type NavigateOptions } from 'react-router'

/**
 * The address's parameters, and how to change them.
 *
 * A change starts from what the address says when it is made, not from what was drawn last: a search that waits for
 * the next key must not take back what was opened meanwhile. The function stays the same, so that what is made with it
 * (the columns of a table) is not made anew whenever the address changes, under the finger of who presses a button.
 */
export function useAddress() {
  const [parameters] = useSearchParams()
  const navigate = useNavigate()
  const change = useCallback(
    (edit: (present: URLSearchParams) => URLSearchParams, options: NavigateOptions = {}) => {
      const search = edit(new URLSearchParams(window.location.search)).toString()
      void navigate({ search }, { preventScrollReset: true, ...options })
    },
    [navigate],
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
