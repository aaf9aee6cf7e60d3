import { toRefusal } from './errors'
import { linkClient, type Client } from './supabase'

interface Credentials {
  email: string
  password: string
}

/**
 * Proves a password by signing in with it, in a client of its own that keeps nothing, so that the session of this page
 * stays what it is. `work` is done while that session lives; then it ends.
 */
export async function withPassword<T>(
  credentials: Credentials,
  work: (fresh: Client) => Promise<T>,
): Promise<T> {
  const fresh = await linkClient()
  const { error } = await fresh.auth.signInWithPassword(credentials)
  if (error) throw toRefusal(error)
  try {
    return await work(fresh)
  } finally {
    await fresh.auth.signOut({ scope: 'local' }).catch(() => null)
  }
}
