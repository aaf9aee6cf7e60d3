export interface Toast {
  id: number
  kind: 'success' | 'error'
  title: string
  description?: string
  /** A message about money waits its turn and is never dropped (specification S25.7). */
  money: boolean
  /** What equal ones are called together, as in "7 deposits approved". */
  many?: string
  /** How many it stands for. */
  times?: number
}

export type ToastOptions = Partial<Pick<Toast, 'description' | 'money' | 'many'>>

const seconds = 1000

/**
 * One message at a time, 5 s each, equal ones as one, the clock stopped while the pointer or the focus is on it. Of messages
 * that are not about money only the newest matters: it replaces the shown one and the waiting one.
 */
export class ToastQueue {
  static readonly shownFor = 5 * seconds
  #current: Toast | null = null
  #waiting: Toast[] = []
  #listeners = new Set<() => void>()
  #next = 1
  #timer: ReturnType<typeof setTimeout> | undefined
  #startedAt = 0
  #remaining = 0
  #begun = false

  readonly get = (): Toast | null => this.#current

  readonly first = (): Toast | null => null

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  success(title: string, options: ToastOptions = {}): void {
    this.#push({ id: this.#next++, kind: 'success', title, money: false, ...options })
  }

  error(title: string, options: ToastOptions = {}): void {
    this.#push({ id: this.#next++, kind: 'error', title, money: false, ...options })
  }

  /** Ends the message with this id, if it is still the one shown, and shows the next. */
  dismiss(id: number): void {
    if (this.#current?.id === id) this.#show(this.#waiting.shift() ?? null)
  }

  /** What shows the messages is on the page: the time of the first one begins now. */
  begin(): void {
    this.#begun = true
    this.resume()
  }

  pause(): void {
    if (this.#timer === undefined) return
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#remaining -= Date.now() - this.#startedAt
  }

  resume(): void {
    if (this.#current && this.#timer === undefined) this.#run(Math.max(this.#remaining, seconds))
  }

  #push(toast: Toast): void {
    if (toast.many && this.#join(toast, toast.many)) return
    if (!toast.money) this.#waiting = this.#waiting.filter((waiting) => waiting.money)
    this.#waiting.push(toast)
    if (!this.#current?.money) this.#show(this.#waiting.shift() ?? null)
  }

  /** Lets one message speak for all of its kind that are not read yet; the newest is named. */
  #join(toast: Toast, many: string): boolean {
    const isEqual = (other: Toast | null) => other?.many === many && other.kind === toast.kind
    const known = isEqual(this.#current) ? this.#current : this.#waiting.find(isEqual)
    if (!known) return false
    const times = (known.times ?? 1) + 1
    const joined: Toast = {
      ...toast,
      title: `${times.toLocaleString('en-US')} ${many}`,
      description: toast.description && `Latest: ${toast.description}`,
      times,
    }
    if (known === this.#current) this.#show(joined)
    else this.#waiting = this.#waiting.map((waiting) => (waiting === known ? joined : waiting))
    return true
  }

  #show(toast: Toast | null): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#current = toast
    if (toast) this.#run(ToastQueue.shownFor)
    for (const listener of [...this.#listeners]) listener()
  }

  #run(duration: number): void {
    const id = this.#current?.id ?? 0
    this.#remaining = duration
    if (!this.#begun) return
    this.#startedAt = Date.now()
    this.#timer = setTimeout(() => this.dismiss(id), duration)
  }
}

export const toasts = new ToastQueue()
