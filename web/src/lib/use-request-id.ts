import { useRef } from 'react'
import { v7 as timeOrderedId } from 'uuid'

interface RequestId {
  /** The id of these answers; the same one until they change or are forgotten. */
  of: (answers: unknown) => string
  /** Called once the server has taken them: the same answers are a new request from then on. */
  forget: () => void
}

/** Keeps one id for one set of answers, so that sending them again makes no second request. */
export function useRequestId(): RequestId {
  const kept = useRef<{ answers: string; id: string }>(null)
  return {
    of: (answers) => {
      const text = JSON.stringify(answers)
      if (kept.current?.answers !== text) kept.current = { answers: text, id: timeOrderedId() }
      return kept.current.id
    },
    forget: () => {
      kept.current = null
    },
  }
}
