import { useEffect, useState } from 'react'
import { isUnanswered } from './errors'
import { useRequestId } from './use-request-id'

/** The request as the server has it; its status is another than pending where it was decided before the answer came. */
export interface StoredRequest {
  status: string
}

/** What to say where a request, sent once more, turns out to be decided by now; null where it still waits. */
export function decidedBefore(kind: 'deposit' | 'withdrawal', stored: StoredRequest | null): string | null {
  if (!stored || stored.status === 'pending') return null
  const outcome = stored.status === 'approved' ? 'is approved' : 'was not approved'
  return `Your ${kind} had arrived the first time and ${outcome}. Nothing was sent twice.`
}

/**
 * One request about money at a time from this form: made once whatever the network does, and recognised among the
 * pending ones where it arrived although no answer did. `name` tells the form and the account. `onArrived` also gets
 * the request as the server answered it, if it did.
 */
export function useOneRequest(
  name: string,
  pending: { id: string }[],
  onArrived: (id: string, stored: StoredRequest | null) => void,
) {
  const requestId = useRequestId(name)
  const [isUnknown, setIsUnknown] = useState(() => requestId.open() !== null)

  function arrive(id: string, stored: StoredRequest | null): void {
    // Seen in the list and heard from the server: whichever comes first counts.
    if (requestId.open() !== id) return
    requestId.forget()
    setIsUnknown(false)
    onArrived(id, stored)
  }

  useEffect(() => {
    const found = pending.find(({ id }) => id === requestId.open())
    if (!found) return
    const timer = setTimeout(() => arrive(found.id, null))
    return () => clearTimeout(timer)
    // Only a newer list can hold it.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [pending])

  async function send(
    answers: unknown,
    create: (id: string) => Promise<StoredRequest | null>,
  ): Promise<void> {
    const id = requestId.of(answers)
    let stored
    try {
      stored = await create(id)
    } catch (error) {
      setIsUnknown(isUnanswered(error))
      if (!isUnanswered(error)) requestId.forget()
      throw error
    }
    arrive(id, stored)
  }

  return { send, isUnknown }
}
