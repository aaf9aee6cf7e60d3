import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { hasCode, toRefusal, unwrap } from '@/lib/errors'
import { prove, withProof } from '@/lib/proof'
import { memberClient } from '@/lib/supabase'

const sessionsKey = ['security', 'sessions']

interface PasswordChange {
  email: string
  current: string
  next: string
}

/** The current password is proved first, whatever the server asks for. Every session but this page's ends. */
async function changePassword({ email, current, next }: PasswordChange): Promise<void> {
  await prove({ email, password: current, code: null }, () => Promise.resolve())
  await withProof(async (client) => {
    const { error } = await client.auth.updateUser({ password: next, current_password: current })
    if (error) throw toRefusal(error)
  }, true)
}

export function useChangePassword() {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: changePassword,
    onSuccess: () => queries.invalidateQueries({ queryKey: sessionsKey }),
  })
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
  return withProof(async (proved) => {
    const { data, error } = await proved.auth.mfa.enroll({ factorType: 'totp', friendlyName: name, issuer })
    if (error) throw toRefusal(error)
    return { id: data.id, uri: data.totp.uri, secret: data.totp.secret }
  })
}

interface Code {
  factorId: string
  code: string
}

async function verify({ factorId, code }: Code): Promise<void> {
  const { error } = await (await memberClient()).auth.mfa.challengeAndVerify({ factorId, code })
  if (error) throw toRefusal(error)
}

async function remove(factorId: string): Promise<void> {
  await withProof(async (client) => {
    const { error } = await client.auth.mfa.unenroll({ factorId })
    if (error) throw toRefusal(error)
  })
  // What its token still says of the device is over.
  await (await memberClient()).auth.refreshSession()
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
  /** When it ends unless it is used before; null of a server that does not say. */
  ends_at: string | null
  /** How the browser named itself. */
  user_agent: string | null
  created_at: string
  last_used_at: string
  is_current: boolean
}

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
