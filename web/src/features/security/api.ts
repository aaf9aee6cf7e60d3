import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { hasCode, toRefusal, unwrap } from '@/lib/errors'
import { withPassword } from '@/lib/password-proof'
import { memberClient } from '@/lib/supabase'

interface PasswordChange {
  email: string
  current: string
  next: string
}

/** The current password is proved first; then the new one is set, and every other session ends. */
async function changePassword({ email, current, next }: PasswordChange): Promise<void> {
  const client = await memberClient()
  await withPassword({ email, password: current }, async () => {
    const { error } = await client.auth.updateUser({ password: next, current_password: current })
    if (error) throw toRefusal(error)
  })
  await client.auth.signOut({ scope: 'others' })
}

export function useChangePassword() {
  return useMutation({ mutationFn: changePassword })
}

export interface Device {
  id: string
  name: string
  created_at: string
}

const devicesKey = ['security', 'devices']

/** Verified authenticators of the signed-in member. */
export const devicesQuery = queryOptions({
  queryKey: devicesKey,
  queryFn: async (): Promise<Device[]> => {
    const { data, error } = await (await memberClient()).auth.mfa.listFactors()
    if (error) throw toRefusal(error)
    return data.totp.map((factor) => ({
      id: factor.id,
      name: factor.friendly_name ?? 'Authenticator',
      created_at: factor.created_at,
    }))
  },
})

export interface Enrollment {
  id: string
  /** otpauth address for the QR code. */
  uri: string
  secret: string
}

/** What was begun before and never finished is dropped first: its secret is not shown again, and it keeps its name. */
async function enroll({ name, issuer }: { name: string; issuer: string }): Promise<Enrollment> {
  const client = await memberClient()
  const known = await client.auth.mfa.listFactors()
  if (known.error) throw toRefusal(known.error)
  for (const { id, status } of known.data.all) if (status === 'unverified') await forget(id)
  const { data, error } = await client.auth.mfa.enroll({ factorType: 'totp', friendlyName: name, issuer })
  if (error) throw toRefusal(error)
  return { id: data.id, uri: data.totp.uri, secret: data.totp.secret }
}

interface Code {
  factorId: string
  code: string
}

async function verify({ factorId, code }: Code): Promise<void> {
  const { error } = await (await memberClient()).auth.mfa.challengeAndVerify({ factorId, code })
  if (error) throw toRefusal(error)
}

/** A fresh code first: who only found an open browser cannot take the second step away. */
async function remove({ factorId, code }: Code): Promise<void> {
  await verify({ factorId, code })
  const client = await memberClient()
  const { error } = await client.auth.mfa.unenroll({ factorId })
  if (error) throw toRefusal(error)
  await client.auth.refreshSession()
}

async function forget(factorId: string): Promise<void> {
  const { error } = await (await memberClient()).auth.mfa.unenroll({ factorId })
  if (error) throw toRefusal(error)
}

export function useEnroll() {
  return useMutation({ mutationFn: enroll })
}

/** Drops an authenticator that was begun and not finished. */
export function useAbandon() {
  return useMutation({ mutationFn: forget })
}

export function useVerify() {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: verify,
    onSuccess: () => queries.invalidateQueries({ queryKey: devicesKey }),
  })
}

export function useRemove() {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: remove,
    onSuccess: () => queries.invalidateQueries({ queryKey: devicesKey }),
  })
}

export interface OpenSession {
  id: string
  /** How the browser named itself. */
  user_agent: string | null
  created_at: string
  last_used_at: string
  is_current: boolean
}

const sessionsKey = ['security', 'sessions']

/** Where the member is signed in: this device first, then the one used last. */
export const sessionsQuery = queryOptions({
  queryKey: sessionsKey,
  queryFn: async () =>
    unwrap(await (await memberClient()).rpc('get_my_sessions')) as unknown as OpenSession[],
  staleTime: 0,
})

async function endSession(id: string): Promise<void> {
  const { error, status } = await (await memberClient()).rpc('end_session', { p_session_id: id })
  const refusal = error && toRefusal(error, status)
  // Ended meanwhile, which is what was asked for.
  if (refusal && !hasCode(refusal, 'not_found')) throw refusal
}

async function endOtherSessions(): Promise<void> {
  unwrap(await (await memberClient()).rpc('end_other_sessions'))
}

/** Ends one session, or with null all but this one. */
export function useEndSession() {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: (id: string | null) => (id === null ? endOtherSessions() : endSession(id)),
    onSettled: () => queries.invalidateQueries({ queryKey: sessionsKey }),
  })
}
