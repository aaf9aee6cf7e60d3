import { useRef } from 'react'

/** Keeps one id for one set of answers, so that sending them again makes no second request. */
export function useRequestId(): (answers: unknown) => string {
  const kept = useRef<{ answers: string; id: string }>(null)
  return (answers) => {
    const text = JSON.stringify(answers)
    if (kept.current?.answers !== text) kept.current = { answers: text, id: crypto.randomUUID() }
    return kept.current.id
  }
}
