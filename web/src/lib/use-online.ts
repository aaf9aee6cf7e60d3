import { useSyncExternalStore } from 'react'
import { formatTime } from './dates'

function subscribe(listener: () => void): () => void {
  addEventListener('online', listener)
  addEventListener('offline', listener)
  return () => {
    removeEventListener('online', listener)
    removeEventListener('offline', listener)
  }
}

/** Why what moves money cannot be pressed. */
export const offlineText = 'You are offline.'

/** The same beside what is still shown, and how old that is; 0 where nothing was loaded yet. */
export function offlineSince(loadedAt: number): string {
  const time = loadedAt > 0 ? ` at ${formatTime(new Date(loadedAt))}` : ''
  return `${offlineText} Showing the last data loaded${time}.`
}

export function useOnline(): boolean {
  return useSyncExternalStore(
    subscribe,
    () => navigator.onLine,
    () => true,
  )
}
