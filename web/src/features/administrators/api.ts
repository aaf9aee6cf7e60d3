import { administratorSession, type AdministratorSession } from '@/lib/administrator-session'
import { unwrap } from '@/lib/errors'
import { administratorClient, callFunction } from '@/lib/supabase'

export interface SignIn {
  email: string
  password: string
  /** Six digits, once the account has asked for them. */
  totp?: string
}

/** Signs in and keeps the session. Throws a Refusal; code `totp_required` asks for the six-digit code. */
export async function signIn(credentials: SignIn): Promise<void> {
  const session = await callFunction<AdministratorSession>(await administratorClient(), 'admin-auth', {
    action: 'login',
    ...credentials,
  })
  administratorSession.set(session)
}

/** Ends the session on the server, then here. */
export async function signOut(): Promise<void> {
  await callFunction(await administratorClient(), 'admin-auth', { action: 'logout' })
  administratorSession.clear()
}

/** Tells the server that a person is here; reading alone does not keep a session alive. */
export async function touchSession(): Promise<void> {
  unwrap(await (await administratorClient()).rpc('touch_admin_session'))
}
