import { useEffect, useState } from 'react'
import { useRouteError } from 'react-router'
import { Fault } from './fault'

const askEveryMilliseconds = 5_000

async function isReachable(): Promise<boolean> {
  if (!navigator.onLine) return false
  try {
    return (await fetch('/config.js', { method: 'HEAD', cache: 'no-store' })).ok
  } catch {
    return false
  }
}

/** Whether the site cannot be reached. Once it could not be, the page is loaded again as soon as it can. */
function useNetworkFault(): boolean {
  const [away, setAway] = useState(!navigator.onLine)
  useEffect(() => {
    let wasAway = false
    async function ask(): Promise<void> {
      if (!(await isReachable())) {
        wasAway = true
        setAway(true)
      } else if (wasAway) location.reload()
    }
    void ask()
    // What breaks while the site can be reached is no matter of the network.
    const asking = setInterval(() => wasAway && void ask(), askEveryMilliseconds)
    const onOnline = () => wasAway && void ask()
    addEventListener('online', onOnline)
    return () => {
      clearInterval(asking)
      removeEventListener('online', onOnline)
    }
  }, [])
  return away
}

/** The rest of the app goes on. */
export function RouteFault() {
  const error = useRouteError()
  const away = useNetworkFault()
  useEffect(() => {
    console.error(error)
  }, [error])
  return <Fault away={away} />
}
