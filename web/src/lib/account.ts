import { unwrap } from './errors'
import type { Client } from './supabase'

/** Who a member is to themselves, and whose money a form is about. */
export interface Account {
  userId: string
  displayName: string | null
  username: string | null
}

/** Without names where there is no profile to read. */
export async function fetchAccount(client: Client, userId: string): Promise<Account> {
  const read = await client.from('profiles').select('display_name, username').eq('user_id', userId).limit(1)
  const [row] = unwrap(read)
  return { userId, displayName: row?.display_name ?? null, username: row?.username ?? null }
}
