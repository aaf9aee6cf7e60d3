import { storedInTab } from './stored'
import { toasts } from './toast-queue'

const key = 'parting-word'

/** A message for the page that the browser opens next: this one and its messages end with it. */
export const partingWord = {
  success: (title: string) => storedInTab.set(key, JSON.stringify({ kind: 'success', title })),
  error: (title: string) => storedInTab.set(key, JSON.stringify({ kind: 'error', title })),

  /** What the page before left. */
  show(): void {
    const left = storedInTab.get(key)
    if (left === null) return
    storedInTab.remove(key)
    const { kind, title } = JSON.parse(left) as { kind: 'success' | 'error'; title: string }
    toasts[kind](title)
  },
}
