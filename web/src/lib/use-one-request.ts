import { useEffect, useState } from 'react'
import { isUnanswered } from './errors'
import { useRequestId } from './use-request-id'

/**
 * One request about money at a time from this form: made once whatever the network does, and recognised among the
 * pending ones where it arrived although no answer did. `name` tells the form and the account.
 */
export function useOneRequest(name: string, pending: { id: string }[], onArrived: (id: string) => void) {
  const requestId = useRequestId(name)
  const [isUnknown, setIsUnknown] = useState(() => requestId.open() !== null)

  function arrive(id: string): void {
    // Seen in the list and heard from the server: whichever comes first counts.
    if (requestId.open() !== id) return
    requestId.forget()
    setIsUnknown(false)
    onArrived(id)
  }

  useEffect(() => {
    const found = pending.find(({ id }) => id === requestId.open())
    if (!found) return
    const timer = setTimeout(() => arrive(found.id))
    return () => clearTimeout(timer)
    // Only a newer list can hold it.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [pending])

  async function send(answers: unknown, create: (id: string) => Promise<unknown>): Promise<void> {
    const id = requestId.of(answers)
    try {
      await create(id)
    } catch (error) {
      setIsUnknown(isUnanswered(error))
      if (!isUnanswered(error)) requestId.forget()
      throw error
    }
    arrive(id)
  }

  return { send, isUnknown }
}
