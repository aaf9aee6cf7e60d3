import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { unwrap } from './errors'
import { memberClient } from './supabase'

export const usernamePattern = /^[A-Za-z0-9_]{3,30}$/

export type UsernameState = 'idle' | 'checking' | 'available' | 'taken' | 'unknown'

async function isUsernameAvailable(username: string): Promise<boolean> {
  const client = await memberClient()
  return unwrap(await client.rpc('is_username_available', { p_username: username }))
}

/** Asks 400 ms after the last key about a name that is valid and not one's own. A failed check does not block. */
export function useUsernameCheck(username: string, own: string | null = null): UsernameState {
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
