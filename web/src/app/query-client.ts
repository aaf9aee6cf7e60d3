import { MutationCache, QueryCache, QueryClient, type Mutation, type Query } from '@tanstack/react-query'
import { administratorSession } from '@/lib/administrator-session'
import { hasCode, Refusal } from '@/lib/errors'
import { memberSession } from '@/lib/session'
import { toasts } from '@/lib/toast-queue'

interface Meta extends Record<string, unknown> {
  /** Whose session answers for a 401; members' unless it says otherwise. */
  realm?: 'administrator'
  /** A toast for a failed load or act, where there is one (specification S25.6). */
  errorToast?: string
}

declare module '@tanstack/react-query' {
  interface Register {
    queryMeta: Meta
    mutationMeta: Meta
  }
}

function onError(error: unknown, source: Pick<Query | Mutation<unknown, unknown>, 'meta'>): void {
  console.error(error)
  const meta = source.meta
  const administrators = meta?.realm === 'administrator'
  if (meta?.errorToast && administrators) toasts.error('Error', { description: meta.errorToast })
  else if (meta?.errorToast) toasts.error(meta.errorToast)
  if (!(error instanceof Refusal)) return
  // A 403 is an ordinary refusal and never signs out, except where it says that the account is blocked.
  if (administrators) {
    // A password or code that is wrong or missing is a 401 too, but the session is as good as before.
    const isProof = hasCode(error, 'invalid_credentials', 'totp_required', 'totp_invalid')
    if (error.status === 401 && !isProof) administratorSession.clear()
  } else if (hasCode(error, 'account_suspended', 'account_disabled')) void memberSession.drop(error.message)
  else if (hasCode(error, 'aal2_required')) memberSession.demandCode()
}

/**
 * Reads are tried three times more when no answer came, or too much was asked at once (429); any other answer of 4xx is
 * an answer. Writes never repeat, and offline they fail at once: one that waited for the network would be sent behind the
 * back of who gave it up.
 */
export const queryClient = new QueryClient({
  queryCache: new QueryCache({ onError: (error, query) => onError(error, query) }),
  mutationCache: new MutationCache({
    onError: (error, _variables, _result, mutation) => onError(error, mutation),
  }),
  defaultOptions: {
    queries: {
      staleTime: 30_000,
      refetchOnWindowFocus: false,
      retry: (failures, error) =>
        failures < 3 && !(error instanceof Refusal && error.speaks && error.status !== 429),
      retryDelay: (attempt) => Math.min(1000 * 2 ** attempt, 4000),
    },
    mutations: { retry: false, networkMode: 'always' },
  },
})
