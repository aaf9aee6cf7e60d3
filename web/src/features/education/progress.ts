import { Store } from '@/lib/store'
import { stored } from '@/lib/stored'

const key = 'lessons-done'

function read(): string[] {
  try {
    const value: unknown = JSON.parse(stored.get(key) ?? '[]')
    return Array.isArray(value) ? value.filter((id): id is string => typeof id === 'string') : []
  } catch {
    return []
  }
}

const store = new Store<string[]>(read())

/** Which lessons were marked as done, in the order of marking; kept in this browser. */
export const lessonProgress = {
  get: store.get,
  subscribe: store.subscribe,
  mark(id: string, done: boolean): void {
    const others = store.get().filter((other) => other !== id)
    const next = done ? [...others, id] : others
    stored.set(key, JSON.stringify(next))
    store.set(next)
  },
}
