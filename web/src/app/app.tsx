import { QueryClientProvider } from '@tanstack/react-query'
import { lazy, Suspense, useEffect } from 'react'
import { RouterProvider } from 'react-router'
import { TooltipProvider } from '@/components/ui/tooltip'
import { memberSession } from '@/lib/session'
import { useStore } from '@/lib/store'
import { queryClient } from './query-client'
import { router } from './router'

const Toaster = lazy(() => import('./toaster'))

memberSession.startIfStored()

/** What one person loaded must never be seen by the next one on the same browser. */
function useForgetfulCache(): void {
  const { status, userId } = useStore(memberSession)
  const owner = status === 'loading' ? undefined : userId
  useEffect(() => {
    if (owner === undefined) return
    return () => queryClient.removeQueries({ predicate: (query) => query.queryKey[0] !== 'platform' })
  }, [owner])
}

export function App() {
  useForgetfulCache()
  return (
    <QueryClientProvider client={queryClient}>
      <TooltipProvider delayDuration={300}>
        <RouterProvider router={router} />
        <Suspense>
          <Toaster />
        </Suspense>
      </TooltipProvider>
    </QueryClientProvider>
  )
}
