import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { isUsernameAvailable } from './api'

export const usernamePattern = /^[A-Za-z0-9_]{3,30}$/

type UsernameState = 'idle' | 'checking' | 'available' | 'taken' | 'unknown'

/** Asks 400 ms after the last key, from three valid characters on. A failed check does not block. */
export function useUsernameCheck(username: string): UsernameState {
  const [asked, setAsked] = useState('')
  const valid = usernamePattern.test(username)
  useEffect(() => {
    const timer = setTimeout(() => setAsked(valid ? username : ''), 400)
    return () => clearTimeout(timer)
  }, [username, valid])
  const query = useQuery({
    queryKey: ['username', asked.toLowerCase()],
    queryFn: () => isUsernameAvailable(asked),
    enabled: asked !== '',
    retry: false,
    meta: { errorToast: 'Error checking username availability' },
  })
  if (!valid) return 'idle'
  if (asked !== username || query.isPending) return 'checking'
  if (query.isError) return 'unknown'
  return query.data ? 'available' : 'taken'
}
