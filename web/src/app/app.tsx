import { QueryClientProvider } from '@tanstack/react-query'
import { lazy, Suspense, useEffect, useState, type ReactNode } from 'react'
import { linkOffer } from '@/lib/link-session'
import { proofRequest } from '@/lib/proof'
import { memberSession } from '@/lib/session'
import { useStore } from '@/lib/store'
import { toasts, type Toast } from '@/lib/toast-queue'
import { queryClient } from './query-client'

const Toaster = lazy(() => import('./toaster'))
// What does not load asks nothing: whoever is signed in stays so.
const LinkQuestion = lazy(() =>
  import('@/features/auth/link-question').catch((error: unknown) => {
    console.error(error)
    return { default: () => null }
  }),
)

// Without it the act would wait for ever.
const ProofQuestion = lazy(() =>
  import('@/features/auth/proof-question').catch((error: unknown) => {
    proofRequest.get()?.cancel()
    throw error
  }),
)

/** What one person loaded must never be seen by the next one on the same browser. */
function useForgetfulCache(): void {
  const { status, userId } = useStore(memberSession)
  const owner = status === 'loading' ? undefined : userId
  useEffect(() => {
    if (owner === undefined) return
    return () => queryClient.removeQueries({ predicate: (query) => query.queryKey[0] !== 'platform' })
  }, [owner])
}

/** Fetched with the first message. */
function Messages() {
  const current = useStore<Toast | null>(toasts)
  const [needed, setNeeded] = useState(false)
  if (current && !needed) setNeeded(true)
  if (!needed) return null
  return (
    <Suspense>
      <Toaster />
    </Suspense>
  )
}

/** On whatever page is open, which may not be the one that the link leads to any more. */
function OpenQuestion({ onContinue }: { onContinue: (address: string) => void }) {
  const offer = useStore(linkOffer)
  if (!offer) return null
  return (
    <Suspense>
      <LinkQuestion offer={offer} onContinue={() => onContinue(offer.address)} />
    </Suspense>
  )
}

/** Over whatever page needs the proof. */
function OpenProof() {
  const request = useStore(proofRequest)
  if (!request) return null
  return (
    <Suspense>
      <ProofQuestion request={request} />
    </Suspense>
  )
}

interface AppProps {
  /** The landing page or the router's, in the browser or at the build. */
  pages: ReactNode
  onOpen: (address: string) => void
}

export function App({ pages, onOpen }: AppProps) {
  useForgetfulCache()
  return (
    <QueryClientProvider client={queryClient}>
      {pages}
      <OpenQuestion onContinue={onOpen} />
      <OpenProof />
      <Messages />
    </QueryClientProvider>
  )
}
