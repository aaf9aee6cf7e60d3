import type { SupabaseClient } from '@supabase/supabase-js'
import { administratorProof } from './administrator-proof'
import { administratorSession } from './administrator-session'
import { readConfig } from './config'
import type { Database } from './database'
import { Refusal, toRefusal } from './errors'
import { fetchOnce } from './first-call'
import { watchSession } from './session-end'

export type Client = SupabaseClient<Database>

const memberFetch = watchSession(fetchOnce)

let member: Promise<Client> | undefined
let administrator: Promise<Client> | undefined

/**
 * The member's client: stock, implicit flow (a mail link then works on another device too), session in
 * local storage, tokens refreshed by itself. Loaded on first use, so that public pages do not carry it. It never
 * reads an address: tokens there may be another account's (link-session.ts).
 */
export function memberClient(): Promise<Client> {
  member ??= import('@supabase/supabase-js').then(({ createClient }) => {
    const { supabaseUrl, supabaseKey } = readConfig()
    return createClient<Database>(supabaseUrl, supabaseKey, {
      auth: { flowType: 'implicit', detectSessionInUrl: false, persistSession: true, autoRefreshToken: true },
      global: { fetch: memberFetch },
    })
  })
  return member
}

let apart = 0

/** A client of its own that keeps nothing, for a session that is not the page's. */
export async function linkClient(): Promise<Client> {
  const { createClient } = await import('@supabase/supabase-js')
  const { supabaseUrl, supabaseKey } = readConfig()
  return createClient<Database>(supabaseUrl, supabaseKey, {
    auth: {
      persistSession: false,
      autoRefreshToken: false,
      detectSessionInUrl: false,
      storageKey: `link-session-${(apart += 1)}`,
    },
  })
}

async function needsProof(response: Response): Promise<boolean> {
  if (response.status !== 403) return false
  const said = (await response
    .clone()
    .json()
    .catch(() => ({}))) as { code?: unknown }
  return said.code === 'reauthentication_needed'
}

/**
 * Sends a request once more where the person first has to sign in again and does, or where the session that it was sent
 * with was replaced in the meantime. Nothing was done by the first one.
 */
const fetchAsAdministrator: typeof fetch = async (input, init) => {
  const response = await fetchOnce(input, init)
  if (await needsProof(response)) {
    if (!(await administratorProof.ask())) return response
  } else if (response.status !== 401) return response
  const token = administratorSession.current()?.access_token
  const headers = new Headers(init?.headers)
  if (!token || headers.get('authorization') === `Bearer ${token}`) return response
  headers.set('authorization', `Bearer ${token}`)
  return fetchOnce(input, { ...init, headers })
}

/**
 * The administrator's client. It never touches the member's session: each request carries the
 * administrator's own token as it is at that moment, or the public key when nobody is signed in.
 */
export function administratorClient(): Promise<Client> {
  administrator ??= import('@supabase/supabase-js').then(({ createClient }) => {
    const { supabaseUrl, supabaseKey } = readConfig()
    return createClient<Database>(supabaseUrl, supabaseKey, {
      accessToken: () => Promise.resolve(administratorSession.current()?.access_token ?? supabaseKey),
      global: { fetch: fetchAsAdministrator },
    })
  })
  return administrator
}

/** Calls an edge function. Throws a Refusal with the function's own text and code. */
export async function callFunction<T>(
  client: Client,
  name: string,
  body: Record<string, unknown> = {},
): Promise<T> {
  const answer = await client.functions.invoke<T>(name, { body })
  if (answer.error === null) return answer.data as T
  const response = (answer.error as { context?: unknown }).context
  if (!(response instanceof Response)) throw toRefusal(answer.error, 0)
  throw await refusalOf(response)
}

/** What an edge function says in place of a result. */
async function refusalOf(response: Response): Promise<Refusal> {
  const said = (await response.json().catch(() => ({}))) as {
    error?: string
    message?: string
    code?: string
    details?: string
  }
  const message = said.error ?? said.message ?? ''
  // A gateway whose service broke says nothing.
  if (response.status === 400 && !message && !said.code) return toRefusal(said, response.status)
  return new Refusal(message, response.status, said.code ?? '', said.details ?? null)
}

/** The file that an edge function makes. The stock client reads a ZIP file as text. */
export async function downloadFunction(client: Client, name: string): Promise<Blob> {
  const { supabaseUrl, supabaseKey } = readConfig()
  const { data } = await client.auth.getSession()
  const response = await memberFetch(`${supabaseUrl}/functions/v1/${name}`, {
    method: 'POST',
    headers: { apikey: supabaseKey, authorization: `Bearer ${data.session?.access_token ?? supabaseKey}` },
  }).catch((error: unknown) => {
    throw toRefusal(error, 0)
  })
  if (!response.ok) throw await refusalOf(response)
  return response.blob()
}
