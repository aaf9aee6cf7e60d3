import { createHmac, randomBytes, randomUUID } from 'node:crypto'
import type { Browser, BrowserContext, BrowserContextOptions, Page } from '@playwright/test'
import { walletOf } from '../api/js/wallet.js'
import { receiptPicture } from './receipt'
import { administratorKey, administratorSession, memberKey, memberSession, need, origin } from './stack'

export interface Person {
  email: string
  password: string
  username: string
}

let secondMember: Promise<string> | undefined

/** The profile of the second demo member, so that no one is added to the first one's team. */
export function referrerId(): Promise<string> {
  return (secondMember ??= findReferrer())
}

async function findReferrer(): Promise<string> {
  const key = need('SUPABASE_ANON_KEY')
  const response = await fetch(`${origin}/rest/v1/rpc/get_sponsor`, {
    method: 'POST',
    headers: {
      apikey: key,
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify({
      p_referral_code: need('DEMO_MEMBER2_EMAIL').split('@')[0],
    }),
  })
  const [referrer] = (await response.json()) as { id: string }[]
  if (!referrer) throw new Error('the second demo member is missing')
  return referrer.id
}

interface NewMember {
  displayName?: string
  referrer?: string
  /** Of the username, at least. */
  length?: number
}

// Of every member's password, by bcrypt with the least work: the usual takes a tenth of a second each time.
const passwordHash = '$2a$04$VPASgFbiSuqCkt/QPOWsIeqtsJaAXm/bVu6.l8weAyl6z1DUxAlgK'

/** A confirmed member below the second demo member, made by the auth service's administration. */
export async function createMember(prefix: string, more: NewMember = {}): Promise<Person> {
  const username = `${prefix}_${randomBytes(4).toString('hex')}`.padEnd(more.length ?? 0, 'x')
  const person = {
    username,
    email: `${username}@example.com`,
    password: 'Quay-lantern-1841',
  }
  const key = need('SUPABASE_SERVICE_ROLE_KEY')
  const response = await fetch(`${origin}/auth/v1/admin/users`, {
    method: 'POST',
    headers: {
      apikey: key,
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify({
      email: person.email,
      password_hash: passwordHash,
      email_confirm: true,
      user_metadata: {
        username,
        display_name: more.displayName ?? 'Ilse Brandt',
        package_value: 0,
        referrer_id: more.referrer ?? (await referrerId()),
      },
    }),
  })
  if (!response.ok) throw new Error(`creating a member: ${response.status} ${await response.text()}`)
  return person
}

/** Sends one request with a person's token, past the app; throws on an error status. */
export async function send<Body>(
  token: string,
  method: 'GET' | 'POST' | 'PATCH',
  path: string,
  body?: unknown,
): Promise<Body> {
  const form = body instanceof FormData
  const response = await fetch(`${origin}${path}`, {
    method,
    headers: {
      apikey: need('SUPABASE_ANON_KEY'),
      authorization: `Bearer ${token}`,
      prefer: 'return=representation',
      ...(form ? {} : { 'content-type': 'application/json' }),
    },
    body: form ? body : JSON.stringify(body),
  })
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
  return (await response.json()) as Body
}

/** A member's token and ids, for what a journey prepares without the app. */
export interface Account {
  token: string
  userId: string
}

export async function signedIn(person: Pick<Person, 'email' | 'password'>): Promise<Account> {
  const session = await memberSession(person.email, person.password)
  return {
    token: session.access_token,
    userId: (session.user as { id: string }).id,
  }
}

export async function setWallet({ token, userId }: Account, address = walletOf(userId)): Promise<void> {
  await send(token, 'PATCH', `/rest/v1/profiles?user_id=eq.${userId}`, {
    trc20_wallet_address: address,
  })
}

/** Asks for a deposit as the app does: the receipt, a picture or a given PDF, first, then the row. */
export async function requestDeposit(
  { token, userId }: Account,
  amount: number,
  reference = randomBytes(32).toString('hex'),
  pdf?: Buffer,
): Promise<string> {
  const [ending, type] = pdf ? ['pdf', 'application/pdf'] : ['png', 'image/png']
  const name = `${userId}/${Date.now()}.${ending}`
  const form = new FormData()
  form.append('cacheControl', '3600')
  form.append('', new Blob([new Uint8Array(pdf ?? receiptPicture(32, 32))], { type }), `receipt.${ending}`)
  await send(token, 'POST', `/storage/v1/object/receipts/${name}`, form)
  const [row] = await send<{ id: string }[]>(token, 'POST', '/rest/v1/deposits', {
    id: randomUUID(),
    user_id: userId,
    amount,
    reference_number: reference,
    receipt_url: `${origin}/storage/v1/object/public/receipts/${name}`,
    status: 'pending',
  })
  return row?.id ?? ''
}

/** Asks for a withdrawal to the wallet that `setWallet` has set. */
export async function requestWithdrawal(
  { token, userId }: Account,
  amount: number,
  address = walletOf(userId),
): Promise<string> {
  const id = randomUUID()
  const row = { id, user_id: userId, amount, wallet_address: address, status: 'pending' }
  await send(token, 'POST', '/rest/v1/withdrawals', row)
  return id
}

let decider: Promise<string> | undefined

/** The token of the demo's finance administrator, who decides what a journey prepares. */
export function financeToken(): Promise<string> {
  return (decider ??= administratorSession(need('DEMO_FINANCE_EMAIL'), need('DEMO_FINANCE_PASSWORD')).then(
    (session) => session.access_token,
  ))
}

export async function decideDeposit(
  depositId: string,
  decision: {
    action: 'approve' | 'reject' | 'ask_rest'
    reason?: string
    receivedAmount?: string
  },
): Promise<void> {
  await send(await financeToken(), 'POST', '/functions/v1/admin-approve-deposit', { depositId, ...decision })
}

/** Asks for the rest of a deposit of which this much arrived; with a reference, the member has sent it. */
export async function askRest(
  { token }: Account,
  id: string,
  receivedAmount: string,
  reference?: string,
): Promise<void> {
  await decideDeposit(id, { action: 'ask_rest', receivedAmount })
  if (reference !== undefined)
    await send(token, 'POST', '/rest/v1/rpc/add_deposit_reference', {
      p_id: id,
      p_reference: reference,
    })
}

/** The id of a member's profile, which is also the code of the referral link. */
export async function profileId({ token, userId }: Account): Promise<string> {
  const [profile] = await send<{ id: string }[]>(
    token,
    'GET',
    `/rest/v1/profiles?select=id&user_id=eq.${userId}`,
  )
  return profile?.id ?? ''
}

/** A member whose first deposit was approved. */
export async function createFunded(
  prefix: string,
  amount: number,
  more: NewMember = {},
): Promise<[Person, Account]> {
  const person = await createMember(prefix, more)
  const account = await signedIn(person)
  await setWallet(account)
  await decideDeposit(await requestDeposit(account, amount), {
    action: 'approve',
  })
  return [person, account]
}

/** A member who may withdraw $1,100.00: funded at $1,000, and so is the pair of referrals. */
export async function createEarner(prefix: string, more: NewMember = {}): Promise<[Person, Account]> {
  const [person, account] = await createFunded(prefix, 1000, more)
  const referrer = await profileId(account)
  await Promise.all([1, 2].map(() => createFunded(prefix, 1000, { referrer })))
  return [person, account]
}

/** A session that a link of an email opened: for what needs the password it is as good as an old one. */
async function linkSession(email: string): Promise<object> {
  const key = need('SUPABASE_SERVICE_ROLE_KEY')
  const post = async <Body>(path: string, body: object): Promise<Body> => {
    const response = await fetch(`${origin}/auth/v1/${path}`, {
      method: 'POST',
      headers: {
        apikey: key,
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify(body),
    })
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
    return (await response.json()) as Body
  }
  const type = 'magiclink'
  const link = await post<{ hashed_token: string }>('admin/generate_link', {
    type,
    email,
  })
  return post('verify', { type, token_hash: link.hashed_token })
}

/** A page of this member's whose sign-in is no fresh proof. */
export async function openUnproved(browser: Browser, person: Person): Promise<Page> {
  return (await memberBrowser(browser, person, {}, await linkSession(person.email))).newPage()
}

/** Gives the password where the page asks for it again. */
export async function provePassword(page: Page, password: string): Promise<void> {
  const proof = page.getByRole('dialog', { name: 'Confirm that it’s you' })
  await proof.getByLabel('Your password').fill(password)
  await proof.getByRole('button', { name: 'Continue' }).click()
}

/** A browser in which this member is signed in. */
export async function memberBrowser(
  browser: Browser,
  person: Pick<Person, 'email' | 'password'>,
  options: BrowserContextOptions = {},
  given?: object,
): Promise<BrowserContext> {
  const session = given ?? (await memberSession(person.email, person.password))
  const context = await browser.newContext({
    baseURL: origin,
    locale: 'en-GB',
    timezoneId: 'Europe/Berlin',
    ...options,
  })
  await context.addInitScript(
    ([key, value]) => {
      if (!localStorage.getItem(key)) localStorage.setItem(key, value)
    },
    [memberKey, JSON.stringify(session)] as const,
  )
  return context
}

/** A page that already holds this member's session. */
export async function openAs(browser: Browser, person: Pick<Person, 'email' | 'password'>): Promise<Page> {
  return (await memberBrowser(browser, person)).newPage()
}

/** A browser in which an administrator is signed in, the demo's super administrator by default; every page of it is a tab of the same person. */
export async function administratorBrowser(
  browser: Browser,
  options: BrowserContextOptions = {},
  who = {
    email: need('DEMO_ADMIN_EMAIL'),
    password: need('DEMO_ADMIN_PASSWORD'),
  },
): Promise<BrowserContext> {
  const session = await administratorSession(who.email, who.password)
  const context = await browser.newContext({
    baseURL: origin,
    locale: 'en-GB',
    ...options,
  })
  await context.addInitScript(([key, value]) => localStorage.setItem(key, value), [
    administratorKey,
    JSON.stringify(session),
  ] as const)
  return context
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

const period = 30_000
// What typing and sending a code may take on a slow machine before the next period begins.
const slack = 10_000

/**
 * The six digits an authenticator shows for this secret (RFC 6238), now or a period away. The server takes the
 * codes one period either way too, each once, so that three can be given without a wait.
 */
export async function codeOf(secret: string, away: -1 | 0 | 1 = 0): Promise<string> {
  const left = period - (Date.now() % period)
  if (left < slack) await new Promise((resolve) => setTimeout(resolve, left))
  const bits = [...secret.replaceAll(/[\s=]/g, '')]
    .map((digit) => alphabet.indexOf(digit).toString(2).padStart(5, '0'))
    .join('')
  const key = Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)))
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / period) + away))
  const digest = createHmac('sha1', key).update(counter).digest()
  const at = (digest.at(-1) ?? 0) & 0xf
  return String((digest.readUInt32BE(at) & 0x7fffffff) % 1_000_000).padStart(6, '0')
}
