import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ToastQueue } from './toast-queue'

let queue: ToastQueue
const shown = () => queue.get()?.title ?? null

beforeEach(() => {
  vi.useFakeTimers()
  queue = new ToastQueue()
  queue.begin()
})
afterEach(() => {
  vi.useRealTimers()
})

describe('ToastQueue', () => {
  it('shows one message for five seconds', () => {
    queue.success('Signed in successfully!')
    vi.advanceTimersByTime(4999)
    expect(shown()).toBe('Signed in successfully!')
    vi.advanceTimersByTime(1)
    expect(shown()).toBeNull()
  })

  it('counts no time before anything can show the message', () => {
    const early = new ToastQueue()
    early.success('Package purchased', { money: true })
    vi.advanceTimersByTime(60_000)
    early.begin()
    vi.advanceTimersByTime(4999)
    expect(early.get()?.title).toBe('Package purchased')
    vi.advanceTimersByTime(1)
    expect(early.get()).toBeNull()
  })

  it('replaces a passing message at once', () => {
    queue.success('first')
    queue.success('second')
    expect(shown()).toBe('second')
  })

  it('never drops a message about money', () => {
    queue.success('deposit', { money: true })
    queue.success('copied')
    queue.error('withdrawal', { money: true })
    queue.success('downloaded')
    const seen = [shown()]
    for (let round = 0; round < 3; round++) {
      vi.advanceTimersByTime(ToastQueue.shownFor)
      seen.push(shown())
    }
    expect(seen).toEqual(['deposit', 'withdrawal', 'downloaded', null])
  })

  it('lets one message about money speak for all that are equal', () => {
    const approve = (description: string) =>
      queue.success('Deposit approved successfully', { money: true, description, many: 'deposits approved' })
    approve('mara, $50.00')
    expect(queue.get()).toMatchObject({
      title: 'Deposit approved successfully',
      description: 'mara, $50.00',
    })
    queue.success('Deposit rejected successfully', { money: true, many: 'deposits rejected' })
    approve('leo, $100.00')
    for (let more = 0; more < 5; more++) approve('ida, $250.00')
    expect(queue.get()).toMatchObject({ title: '7 deposits approved', description: 'Latest: ida, $250.00' })
    queue.success('Deposit rejected successfully', { money: true, many: 'deposits rejected' })
    vi.advanceTimersByTime(ToastQueue.shownFor)
    expect(shown()).toBe('2 deposits rejected')
    vi.advanceTimersByTime(ToastQueue.shownFor)
    expect(shown()).toBeNull()
  })

  it('stops the clock while paused, and leaves at least a second after', () => {
    queue.success('read me')
    vi.advanceTimersByTime(4900)
    queue.pause()
    vi.advanceTimersByTime(60_000)
    expect(shown()).toBe('read me')
    queue.resume()
    vi.advanceTimersByTime(999)
    expect(shown()).toBe('read me')
    vi.advanceTimersByTime(1)
    expect(shown()).toBeNull()
  })

  it('ignores the dismissal of a message that is gone', () => {
    queue.success('first')
    const first = queue.get()?.id ?? 0
    queue.success('second')
    queue.dismiss(first)
    expect(shown()).toBe('second')
  })
})
