import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { readConfig } from '@/lib/config'
import { toRefusal } from '@/lib/errors'
import { memberClient } from '@/lib/supabase'

interface PasswordChange {
  email: string
  current: string
  next: string
}

/**
 * Proves the current password by signing in with it, in a client of its own that keeps nothing, so that the
 * session of this page stays what it is; then sets the new one.
 */
async function changePassword({ email, current, next }: PasswordChange): Promise<void> {
  const { createClient } = await import('@supabase/supabase-js')
  const { supabaseUrl, supabaseKey } = readConfig()
  const proof = createClient(supabaseUrl, supabaseKey, {
    auth: {
      persistSession: false,
      autoRefreshToken: false,
      detectSessionInUrl: false,
      storageKey: 'password-proof',
    },
  })
  const signedIn = await proof.auth.signInWithPassword({ email, password: current })
  if (signedIn.error) throw toRefusal(signedIn.error)
  const client = await memberClient()
  const { error } = await client.auth.updateUser({ password: next, current_password: current })
  await proof.auth.signOut({ scope: 'local' })
  if (error) throw toRefusal(error)
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

async function enroll({ name, issuer }: { name: string; issuer: string }): Promise<Enrollment> {
  const client = await memberClient()
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
