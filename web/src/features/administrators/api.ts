import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { adminKey } from '@/lib/admin-overview'
import {
  administratorSession,
  type Administrator,
  type AdministratorSession,
} from '@/lib/administrator-session'
import { unwrap } from '@/lib/errors'
import { administratorClient, callFunction } from '@/lib/supabase'
import type { Role } from './roles'

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
  const client = await administratorClient()
  administratorSession.leaving(true)
  try {
    await callFunction(client, 'admin-auth', { action: 'logout' })
  } catch (error) {
    administratorSession.leaving(false)
    throw error
  }
  administratorSession.clear()
}

/** Tells the server that a person is here; reading alone does not keep a session alive. */
export async function touchSession(): Promise<void> {
  unwrap(await (await administratorClient()).rpc('touch_admin_session'))
}

async function changeOwn(body: Record<string, unknown>): Promise<void> {
  await callFunction(await administratorClient(), 'admin-auth', body)
}

interface PasswordChange {
  email: string
  currentPassword: string
  newPassword: string
  /** Six digits, when the account has a second step. */
  totp?: string
}

/** Sets a new password and ends the account's other sessions. */
export function useChangePassword() {
  return useMutation({
    mutationFn: (change: PasswordChange) => changeOwn({ action: 'change_password', ...change }),
    meta: { realm: 'administrator' },
  })
}

export interface Enrollment {
  secret: string
  /** otpauth address for the QR code. */
  uri: string
}

export function useEnroll() {
  return useMutation({
    mutationFn: async () =>
      callFunction<Enrollment>(await administratorClient(), 'admin-auth', { action: 'totp_enroll' }),
    meta: { realm: 'administrator' },
  })
}

/** Turns the second step on or off with a code of the device. */
export function useTwoStep() {
  return useMutation({
    mutationFn: async ({ on, code }: { on: boolean; code: string }) => {
      await changeOwn({ action: on ? 'totp_verify' : 'totp_disable', code })
      administratorSession.amend({ two_step: on })
    },
    meta: { realm: 'administrator' },
  })
}

export interface SignInRecord {
  seq: number
  at: string
  /** Network address and browser; of older entries not all was recorded. */
  payload: { address?: string | null; user_agent?: string | null } | null
}

/** The newest sign-ins of one's own account, from the audit log. */
export function ownSignInsQuery(adminId: string) {
  return queryOptions({
    queryKey: [adminKey, 'own-sign-ins'],
    queryFn: async () => {
      const body = { adminId, action: 'admin.signed_in', pageSize: 10 }
      const client = await administratorClient()
      return (await callFunction<{ entries: SignInRecord[] }>(client, 'admin-audit', body)).entries
    },
    meta: { realm: 'administrator' },
  })
}

/** Where an administrator is signed in now. */
export interface AdminSession {
  started_at: string
  last_seen_at: string
  address: string | null
  user_agent: string | null
  is_current: boolean
}

/** An account as super administrators see it. */
export interface Account extends Administrator {
  /** The last used first. */
  sessions: AdminSession[]
}

export const accountsQuery = queryOptions({
  queryKey: [adminKey, 'accounts'],
  queryFn: async () => {
    const client = await administratorClient()
    const answer = await callFunction<{ administrators: Account[] }>(client, 'admin-accounts', {
      action: 'list',
    })
    return answer.administrators
  },
  meta: { realm: 'administrator' },
})

export type AccountAct =
  | { action: 'create'; email: string; fullName: string; role: Role }
  | { action: 'update'; adminId: string; role?: Role; isActive?: boolean }
  | { action: 'reset_password'; adminId: string }
  | { action: 'reset_two_step'; adminId: string; reason: string }
  | { action: 'end_sessions'; adminId: string }

/** Acts on an account; where a password was made, the answer has it, once. */
export function useAccountAct() {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: async (act: AccountAct) =>
      callFunction<{ password?: string }>(await administratorClient(), 'admin-accounts', { ...act }),
    onSuccess: () => queries.invalidateQueries({ queryKey: [adminKey, 'accounts'] }),
    meta: { realm: 'administrator' },
  })
}
