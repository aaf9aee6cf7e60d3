import { useEffect, useState } from 'react'

/** The present time, kept fresh once a minute, so that "3 hours ago" does not stand still. */
export function useNow(): Date {
  const [now, setNow] = useState(() => new Date())
  useEffect(() => {
    const timer = setInterval(() => setNow(new Date()), 60_000)
    return () => clearInterval(timer)
  }, [])
  return now
}
