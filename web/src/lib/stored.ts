/** Storage that may be closed to the page (private windows, blocked cookies): then it forgets. */
function storedIn(storage: () => Storage) {
  return {
    get(key: string): string | null {
      try {
        return storage().getItem(key)
      } catch {
        return null
      }
    },
    set(key: string, value: string): void {
      try {
        storage().setItem(key, value)
      } catch {
        // Nothing to do: the choice then lasts as long as the page.
      }
    },
    removeAll(prefix: string): void {
      try {
        for (const key of Object.keys(storage())) if (key.startsWith(prefix)) storage().removeItem(key)
      } catch {
        // As above.
      }
    },
    remove(key: string): void {
      try {
        storage().removeItem(key)
      } catch {
        // As above.
      }
    },
  }
}

export const stored = storedIn(() => localStorage)

/** Of this tab alone, until it is closed. */
export const storedInTab = storedIn(() => sessionStorage)
