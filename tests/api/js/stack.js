// The running stack, and what a test needs of it beside the stock client.
import { readFileSync } from 'node:fs'
import { deflateSync, crc32 } from 'node:zlib'
import { createClient } from '@supabase/supabase-js'
import { walletOf } from './wallet.js'

const file = process.env.STACK_ENV ?? new URL('../../../.stack/env', import.meta.url)
export const env = Object.fromEntries(
  readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line.includes('=') && !line.startsWith('#'))
    .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
)

/** The stock client as a browser has it: the public key, nothing kept on disk. */
export function publicClient(options = {}) {
  return createClient(env.SUPABASE_URL, env.SUPABASE_ANON_KEY, {
    auth: { persistSession: false, autoRefreshToken: false },
    ...options,
  })
}

/** A client that speaks with somebody's access token. */
export function clientOf(accessToken) {
  return publicClient({ global: { headers: { Authorization: `Bearer ${accessToken}` } } })
}

/** An administrator of the demo, signed in. */
export async function financeClient() {
  const body = {
    action: 'login',
    email: env.DEMO_FINANCE_EMAIL,
    password: env.DEMO_FINANCE_PASSWORD,
  }
  const { data, error } = await publicClient().functions.invoke('admin-auth', { body })
  if (error) throw error
  return { client: clientOf(data.access_token), session: data }
}

/** A confirmed member below a sponsor, signed in, with a wallet. */
export async function newMember(sponsor) {
  const username = `n_${crypto.randomUUID().replaceAll('-', '').slice(0, 10)}`
  const email = `${username}@example.com`
  const password = 'correct-horse-77'
  const service = createClient(env.SUPABASE_URL, env.SUPABASE_SERVICE_ROLE_KEY)
  const made = await service.auth.admin.createUser({
    email,
    password,
    email_confirm: true,
    user_metadata: { username, display_name: 'Nora Lind', package_value: 0, referrer_id: sponsor },
  })
  if (made.error) throw made.error
  const client = publicClient()
  const signedIn = await client.auth.signInWithPassword({ email, password })
  if (signedIn.error) throw signedIn.error
  const id = signedIn.data.user.id
  const wallet = { trc20_wallet_address: walletOf(id) }
  const saved = await client.from('profiles').update(wallet).eq('user_id', id).select().single()
  if (saved.error) throw saved.error
  return { client, id, email, username, profile: saved.data }
}

/** The newest letter to an address, waited for. */
export async function letterTo(address) {
  for (let tries = 0; tries < 100; tries += 1) {
    const letters = await (await fetch(`${env.MAIL_URL}/email`)).json()
    const found = letters.filter((letter) => letter.to.some((to) => to.address === address))
    if (found.length > 0) return found.at(-1)
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
  throw new Error(`no mail to ${address}`)
}

/** A PNG that no other call makes. */
export function png() {
  const size = 16
  const rows = new Uint8Array(size * (size * 3 + 1))
  crypto.getRandomValues(rows)
  for (let row = 0; row < size; row += 1) rows[row * (size * 3 + 1)] = 0
  const header = Buffer.alloc(13)
  header.writeUInt32BE(size, 0)
  header.writeUInt32BE(size, 4)
  header.set([8, 2, 0, 0, 0], 8)
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  const parts = [chunk('IHDR', header), chunk('IDAT', deflateSync(rows)), chunk('IEND', Buffer.alloc(0))]
  return Buffer.concat([signature, ...parts])
}

function chunk(type, data) {
  const body = Buffer.concat([Buffer.from(type), data])
  const length = Buffer.alloc(4)
  length.writeUInt32BE(data.length)
  const checksum = Buffer.alloc(4)
  checksum.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, checksum])
}
