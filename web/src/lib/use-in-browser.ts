import { useSyncExternalStore } from 'react'

const never = () => () => undefined

/** False while the build draws the page, which knows neither an address nor a session. */
export function useInBrowser(): boolean {
  return useSyncExternalStore(
    never,
    () => true,
    () => false,
  )
}
