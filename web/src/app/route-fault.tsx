import { useEffect, useState } from 'react'
import { useRouteError } from 'react-router'
import { EmptyState } from '@/components/empty-state'
import { Button } from '@/components/ui/button'

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

/** A page that broke, or whose code did not arrive. The rest of the app goes on. */
export function RouteFault() {
  const error = useRouteError()
  const away = useNetworkFault()
  useEffect(() => {
    console.error(error)
  }, [error])
  const [title, text] = away
    ? ['No connection', 'This page could not be loaded. It opens by itself when your connection is back.']
    : [
        'This page could not be shown',
        'Something went wrong on this page. Reload; if it happens again, contact support.',
      ]
  return (
    <div role="alert" className="page-gutter mx-auto max-w-xl py-16">
      <EmptyState
        drawing="lamp"
        title={title}
        text={text}
        action={
          <Button variant="outline" onClick={() => location.reload()}>
            {away ? 'Try again' : 'Reload'}
          </Button>
        }
      />
    </div>
  )
}
