import { Store } from './store'
import { stored } from './stored'

export type Theme = 'system' | 'light' | 'dark'

export const themes: { value: Theme; label: string }[] = [
  { value: 'system', label: 'System' },
  { value: 'light', label: 'Light' },
  { value: 'dark', label: 'Dark' },
]

function read(): Theme {
  const value = stored.get('theme')
  return value === 'light' || value === 'dark' ? value : 'system'
}

const store = new Store<Theme>(read(), 'system')
const systemDark = matchMedia('(prefers-color-scheme: dark)')

function apply(): void {
  const choice = store.get()
  const dark = choice === 'dark' || (choice === 'system' && systemDark.matches)
  document.documentElement.classList.toggle('dark', dark)
}

systemDark.addEventListener('change', apply)

/** System, light or dark; remembered. /config.js applies it before the first paint. */
export const theme = {
  get: store.get,
  first: store.first,
  subscribe: store.subscribe,
  set(choice: Theme): void {
    stored.set('theme', choice)
    store.set(choice)
    apply()
  },
}
