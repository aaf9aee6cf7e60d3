import { createHmac, randomBytes } from 'node:crypto'
import type { Browser, Page } from '@playwright/test'
import { memberKey, memberSession, need, origin } from './stack'

export interface Person {
  email: string
  password: string
  username: string
}

/** The profile of the second demo member, so that nobody is added to the first one's team. */
async function sponsorId(): Promise<string> {
  const key = need('SUPABASE_ANON_KEY')
  const answer = await fetch(`${origin}/rest/v1/rpc/get_sponsor`, {
    method: 'POST',
    headers: { apikey: key, authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ p_referral_code: need('DEMO_MEMBER2_EMAIL').split('@')[0] }),
  })
  const [sponsor] = (await answer.json()) as { id: string }[]
  if (!sponsor) throw new Error('the second demo member is missing')
  return sponsor.id
}

/** A confirmed member below the second demo member, made by the auth service's administration. */
export async function createMember(prefix: string): Promise<Person> {
  const username = `${prefix}_${randomBytes(4).toString('hex')}`
  const person = {
    username,
    email: `${username}@example.com`,
    password: `Quay-${randomBytes(8).toString('hex')}`,
  }
  const key = need('SUPABASE_SERVICE_ROLE_KEY')
  const answer = await fetch(`${origin}/auth/v1/admin/users`, {
    method: 'POST',
    headers: { apikey: key, authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      email: person.email,
      password: person.password,
      email_confirm: true,
      user_metadata: {
        username,
        display_name: 'Ilse Brandt',
        package_value: 0,
        referrer_id: await sponsorId(),
      },
    }),
  })
  if (!answer.ok) throw new Error(`creating a member: ${answer.status} ${await answer.text()}`)
  return person
}

/** A page that already holds this member's session. */
export async function openAs(browser: Browser, person: Pick<Person, 'email' | 'password'>): Promise<Page> {
  const session = await memberSession(person.email, person.password)
  const context = await browser.newContext({ baseURL: origin, locale: 'en-GB', timezoneId: 'Europe/Berlin' })
  await context.addInitScript(
    ([key, value]) => {
      if (!localStorage.getItem(key)) localStorage.setItem(key, value)
    },
    [memberKey, JSON.stringify(session)] as const,
  )
  return context.newPage()
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

const period = 30_000

/** Waits for the next code: each is taken once. */
export async function nextCode(secret: string): Promise<string> {
  await new Promise((resolve) => setTimeout(resolve, period - (Date.now() % period) + 500))
  return codeOf(secret)
}

/** The six digits an authenticator shows for this secret now (RFC 6238). */
export function codeOf(secret: string): string {
  const bits = [...secret.replaceAll(/[\s=]/g, '')]
    .map((letter) => alphabet.indexOf(letter).toString(2).padStart(5, '0'))
    .join('')
  const key = Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)))
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / period)))
  const digest = createHmac('sha1', key).update(counter).digest()
  const at = (digest.at(-1) ?? 0) & 0xf
  return String((digest.readUInt32BE(at) & 0x7fffffff) % 1_000_000).padStart(6, '0')
}
