import { readFileSync } from 'node:fs'

/** The stack under test, as `make up` or `make test` wrote it down (KEY=value lines, named by STACK_ENV). */
function read(): Record<string, string> {
  const file = process.env.STACK_ENV ?? new URL('../../.stack/env', import.meta.url).pathname
  const lines = readFileSync(file, 'utf8').split('\n')
  return Object.fromEntries(
    lines
      .filter((line) => /^[A-Z0-9_]+=/.test(line))
      .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  ) as Record<string, string>
}

export const stack = read()

export function need(name: string): string {
  const value = stack[name]
  if (!value) throw new Error(`${name} is missing in the stack's env file`)
  return value
}

export const origin = need('SUPABASE_URL')

interface Session {
  access_token: string
  [key: string]: unknown
}

/** Signs a member in over HTTP; what comes back is what the app keeps in local storage. */
export async function memberSession(email: string, password: string): Promise<Session> {
  const response = await fetch(`${origin}/auth/v1/token?grant_type=password`, {
    method: 'POST',
    headers: { apikey: need('SUPABASE_ANON_KEY'), 'content-type': 'application/json' },
    body: JSON.stringify({ email, password }),
  })
  if (!response.ok) throw new Error(`member sign-in: ${response.status} ${await response.text()}`)
  return (await response.json()) as Session
}

/** Signs an administrator in over HTTP. */
export async function administratorSession(email: string, password: string): Promise<Session> {
  const response = await fetch(`${origin}/functions/v1/admin-auth`, {
    method: 'POST',
    headers: {
      apikey: need('SUPABASE_ANON_KEY'),
      authorization: `Bearer ${need('SUPABASE_ANON_KEY')}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify({ action: 'login', email, password }),
  })
  if (!response.ok) throw new Error(`administrator sign-in: ${response.status} ${await response.text()}`)
  return (await response.json()) as Session
}

/** Key under which supabase-js keeps the session of this stack's address. */
export const memberKey = `sb-${new URL(origin).hostname.split('.')[0]}-auth-token`
export const administratorKey = 'harborline-admin-session'
