import { useSyncExternalStore } from 'react'

/** A value that lives outside React and that components may follow. */
export class Store<T> {
  readonly #listeners = new Set<() => void>()
  #value: T
  readonly #first: T

  /** `first` is what a page is prerendered with, where the browser may begin with something else. */
  constructor(value: T, first = value) {
    this.#value = value
    this.#first = first
  }

  readonly get = (): T => this.#value

  readonly first = (): T => this.#first

  set(value: T): void {
    if (Object.is(value, this.#value)) return
    this.#value = value
    for (const listener of [...this.#listeners]) listener()
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
}

export function useStore<T>(store: Pick<Store<T>, 'get' | 'first' | 'subscribe'>): T {
  return useSyncExternalStore(store.subscribe, store.get, store.first)
}
