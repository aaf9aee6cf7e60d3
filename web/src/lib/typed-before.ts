const typed = new Map<string, string>()
let focused: string | null = null

/** What a person has begun in the page as it was built, before its code was here; fields go by their names. */
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

  /** What stands in the field now, or stood there before. */
  take(name: string): string {
    const [field] = document.getElementsByName(name)
    const before = typed.get(name)
    typed.delete(name)
    return before ?? (field instanceof HTMLInputElement ? field.value : '')
  },
}
