import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { isUsernameAvailable } from './api'

export const usernamePattern = /^[A-Za-z0-9_]{3,30}$/

export type UsernameState = 'idle' | 'checking' | 'available' | 'taken' | 'unknown'

/** Asks 400 ms after the last key about a name that is valid and not one's own. A failed check does not block. */
export function useUsernameCheck(username: string, own: string | null): UsernameState {
  const [asked, setAsked] = useState('')
  const worthAsking = usernamePattern.test(username) && username.toLowerCase() !== own?.toLowerCase()
  useEffect(() => {
    const timer = setTimeout(() => setAsked(worthAsking ? username : ''), 400)
    return () => clearTimeout(timer)
  }, [username, worthAsking])
  const query = useQuery({
    queryKey: ['username', asked.toLowerCase()],
    queryFn: () => isUsernameAvailable(asked),
    enabled: asked !== '',
    retry: false,
    meta: { errorToast: 'Error checking username availability' },
  })
  if (!worthAsking) return 'idle'
  if (asked !== username || query.isPending) return 'checking'
  if (query.isError) return 'unknown'
  return query.data ? 'available' : 'taken'
}
