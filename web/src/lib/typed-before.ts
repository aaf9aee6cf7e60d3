const typed = new Map<string, string>()
let alive = false
let focused: string | null = null

/**
 * What a person has begun in the page as it was built, before its code was here; fields go by their names. Once the page
 * is alive nothing is taken any more: another form may have fields of the same names.
 */
export const typedBefore = {
  /** Reads the fields of a page that is about to be drawn anew. */
  keep(root: HTMLElement): void {
    for (const input of root.querySelectorAll('input')) typed.set(input.name, input.value)
    focused = document.activeElement instanceof HTMLInputElement ? document.activeElement.name : null
  },

  /** Gives the focus back to the field that had it. */
  focus(root: HTMLElement): void {
    if (focused) root.querySelector<HTMLInputElement>(`input[name="${CSS.escape(focused)}"]`)?.focus()
  },

  /** What stands in the field, or stood there before it was drawn anew. */
  take(name: string): string {
    if (alive) return ''
    const [field] = document.getElementsByName(name)
    return typed.get(name) ?? (field instanceof HTMLInputElement ? field.value : '')
  },

  /** The page is alive, and forgets what it kept. */
  end(): void {
    alive = true
    typed.clear()
  },
}
