import { randomBytes } from 'node:crypto'
import { expect, test, type BrowserContext, type Page } from '@playwright/test'
import { violations } from '../accessibility'
import { switchTo } from '../looks'
import { linkOf, mailTo, openLink } from '../mail'
import { createMember, memberBrowser, referrerId, type Person } from '../people'
import { memberKey, memberSession, need, origin } from '../stack'

// threats: T138
// Tokens in an address sign in only where nobody else is signed in, or by the member's own choice.

interface Tokens {
  access_token: string
  refresh_token: string
}

const key = need('SUPABASE_ANON_KEY')
const serviceKey = need('SUPABASE_SERVICE_ROLE_KEY')

async function tokensOf({ email, password }: Person): Promise<Tokens> {
  return (await memberSession(email, password)) as unknown as Tokens
}

/** What the auth service appends to the address a mail link leads to. */
function fragmentOf(tokens: Tokens, type = 'magiclink'): string {
  const { access_token, refresh_token } = tokens
  return `#${new URLSearchParams({ access_token, refresh_token, expires_in: '3600', token_type: 'bearer', type })}`
}

async function mara(): Promise<Person> {
  return createMember('mara', { displayName: 'Mara Holm' })
}

async function leo(): Promise<Person> {
  return createMember('leo', { displayName: 'Leo Berg' })
}

/** Whose session this browser holds. */
async function holder(page: Page): Promise<string | undefined> {
  return page.evaluate(
    (name) =>
      (
        JSON.parse(localStorage.getItem(name) ?? '{}') as {
          user?: { email: string }
        }
      ).user?.email,
    memberKey,
  )
}

/** Which of the holder's sessions it is. */
async function sessionOf(page: Page): Promise<string> {
  const stored = await page.evaluate((name) => localStorage.getItem(name) ?? '', memberKey)
  const payload = (JSON.parse(stored) as Tokens).access_token.split('.')[1] ?? ''
  return (
    JSON.parse(Buffer.from(payload, 'base64url').toString()) as {
      session_id: string
    }
  ).session_id
}

/** A browser of this member with two tabs that show the own name. */
async function twoTabs(context: BrowserContext, person: Person): Promise<[Page, Page]> {
  const tabs: [Page, Page] = [await context.newPage(), await context.newPage()]
  for (const tab of tabs) {
    await tab.goto('/profile')
    await expect(tab.getByLabel('Username')).toHaveValue(person.username)
  }
  return tabs
}

function question(page: Page) {
  return page.getByRole('alertdialog', {
    name: 'You are signed in as Mara Holm. Continue as Leo Berg?',
  })
}

async function post(path: string, body: object, authorization?: string): Promise<Response> {
  const headers = {
    apikey: authorization ?? key,
    authorization: `Bearer ${authorization ?? key}`,
  }
  return fetch(`${origin}/auth/v1/${path}`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
}

test('a link to another account asks by name; who stays keeps the session, and the link is worth nothing', async ({
  browser,
}) => {
  const [own, other] = [await mara(), await leo()]
  const context = await memberBrowser(browser, own)
  const [page, second] = await twoTabs(context, own)
  const tokens = await tokensOf(other)
  await page.bringToFront()
  await page.goto('about:blank')
  await page.goto(`/deposit${fragmentOf(tokens)}`)
  await expect(question(page)).toBeVisible()
  await expect(question(page).getByText(other.username, { exact: true })).toBeVisible()
  await expect(page).toHaveURL('/deposit')
  expect(await holder(page)).toBe(own.email)
  await expect(page.getByRole('button', { name: 'Stay as Mara Holm' })).toBeFocused()
  expect(await violations(page)).toEqual([])
  await switchTo(page, 'dark')
  expect(await violations(page, 'colours')).toEqual([])
  await page.keyboard.press('Escape')
  await expect(question(page)).toBeVisible()

  const revoked = page.waitForResponse((response) => response.url().includes('/logout'))
  await page.getByRole('button', { name: 'Stay as Mara Holm' }).click()
  expect((await revoked).ok()).toBe(true)
  await expect(question(page)).toBeHidden()
  expect(await holder(page)).toBe(own.email)
  expect(
    (
      await post('token?grant_type=refresh_token', {
        refresh_token: tokens.refresh_token,
      })
    ).status,
  ).toBe(400)
  await page.reload()
  await expect(page.getByRole('heading', { name: 'Deposit', level: 1 })).toBeVisible()
  await expect(question(page)).toBeHidden()
  await second.bringToFront()
  await expect(second.getByLabel('Username')).toHaveValue(own.username)
  await context.close()
})

test('who continues is the other account, on the page of the link and in the other tab', async ({
  browser,
}) => {
  const [own, other] = [await mara(), await leo()]
  const context = await memberBrowser(browser, own)
  const [page, second] = await twoTabs(context, own)
  await page.bringToFront()
  await page.goto(`/sign-in?redirect=%2Fprofile${fragmentOf(await tokensOf(other))}`)
  await expect(question(page)).toBeVisible()
  expect(await holder(page)).toBe(own.email)
  await page.getByRole('button', { name: 'Continue as Leo Berg' }).click()
  await expect(page.getByLabel('Username')).toHaveValue(other.username)
  await expect(page).toHaveURL('/profile')
  expect(await holder(page)).toBe(other.email)
  await second.bringToFront()
  await expect(second.getByLabel('Username')).toHaveValue(other.username)
  await context.close()
})

test('the question is about whoever is signed in when it is answered', async ({ browser }) => {
  const [own, other] = [await mara(), await leo()]
  const third = await createMember('nora', { displayName: 'Nora Falk' })
  const context = await memberBrowser(browser, own)
  const [page, second] = await twoTabs(context, own)
  await page.goto('about:blank')
  await page.goto(`/deposit${fragmentOf(await tokensOf(other))}`)
  await expect(question(page)).toBeVisible()
  await second.bringToFront()
  await second.getByRole('button', { name: 'Sign Out' }).click()
  await expect(second).toHaveURL('/')
  await second.getByRole('banner').getByRole('link', { name: 'Sign in' }).click()
  await second.getByLabel('Email').fill(third.email)
  await second.getByLabel('Password', { exact: true }).fill(third.password)
  await second.getByRole('button', { name: 'Sign in' }).click()
  await expect(second).toHaveURL('/dashboard')
  await page.bringToFront()
  await expect(
    page.getByRole('alertdialog', {
      name: 'You are signed in as Nora Falk. Continue as Leo Berg?',
    }),
  ).toBeVisible()
  await page.getByRole('button', { name: 'Stay as Nora Falk' }).click()
  await expect(page.getByRole('alertdialog')).toBeHidden()
  expect(await holder(page)).toBe(third.email)
  await context.close()
})

test('a link to the own account goes through without a question', async ({ browser }) => {
  const own = await mara()
  const context = await memberBrowser(browser, own)
  const page = await context.newPage()
  await page.goto('/profile')
  await expect(page.getByLabel('Username')).toHaveValue(own.username)
  const before = await sessionOf(page)
  await page.goto(`/dashboard${fragmentOf(await tokensOf(own))}`)
  await expect(page.getByRole('heading', { name: 'Your Command Center' })).toBeVisible()
  await expect(page).toHaveURL('/dashboard')
  expect(await sessionOf(page)).not.toBe(before)
  await expect(page.getByRole('alertdialog')).toHaveCount(0)
  expect(await holder(page)).toBe(own.email)
  await context.close()
})

test('tokens in a query, a code, or behind the redirect of a sign-in replace nobody', async ({ browser }) => {
  const [own, other] = [await mara(), await leo()]
  const tokens = await tokensOf(other)
  const context = await memberBrowser(browser, own)
  await context.addInitScript((name) => localStorage.setItem(name, '"planted"'), `${memberKey}-code-verifier`)
  const page = await context.newPage()
  const asked: string[] = []
  page.on('request', (request) => asked.push(request.url()))
  for (const query of [fragmentOf(tokens).replace('#', '?'), '?code=0c9a1f5e-7c1c-4b0e-9d33-3a3f1ad3f6aa']) {
    await page.goto(`/profile${query}`)
    await expect(page.getByLabel('Username')).toHaveValue(own.username)
    expect(await holder(page)).toBe(own.email)
  }
  expect(asked.filter((url) => url.includes('grant_type=pkce'))).toEqual([])
  await context.close()

  const visitor = await (await browser.newContext()).newPage()
  await visitor.goto(`/sign-in?redirect=${encodeURIComponent(`/profile${fragmentOf(tokens)}`)}`)
  await visitor.getByLabel('Email').fill(own.email)
  await visitor.getByLabel('Password', { exact: true }).fill(own.password)
  await visitor.getByRole('button', { name: 'Sign in' }).click()
  await expect(visitor).toHaveURL('/profile')
  await visitor.reload()
  await expect(visitor.getByLabel('Username')).toHaveValue(own.username)
  await visitor.context().close()
})

test('a link without a session behind it signs nobody out and asks nothing', async ({ browser }) => {
  const own = await mara()
  const context = await memberBrowser(browser, own)
  const page = await context.newPage()
  await page.goto(`/profile${fragmentOf({ access_token: 'a.b.c', refresh_token: 'worn-out' })}`)
  await expect(page.getByLabel('Username')).toHaveValue(own.username)
  await expect(page).toHaveURL('/profile')
  await expect(page.getByRole('alertdialog')).toHaveCount(0)
  await context.close()
})

test('the links of a sign-in mail, an invitation and a change of address sign in', async ({ browser }) => {
  const own = await mara()
  expect((await post('otp', { email: own.email, create_user: false })).ok).toBe(true)
  const page = await (await browser.newContext()).newPage()
  await openLink(page, await mailTo(own.email, /sign-in link/))
  await expect.poll(() => holder(page)).toBe(own.email)
  await page.goto('/profile')
  await expect(page.getByLabel('Username')).toHaveValue(own.username)

  const changed = own.email.replace('@', '.new@')
  await page.getByLabel('Email').fill(changed)
  await page.getByRole('button', { name: 'Save profile' }).click()
  const until = `Until then we use ${own.email}.`
  const both = `Email changes once the links sent to ${own.email} and ${changed} are both opened. ${until}`
  await expect(page.getByText(both)).toBeVisible()
  await openLink(page, await mailTo(changed, /address/i))
  await expect(page.getByRole('heading', { name: 'One more link to open' })).toBeVisible()
  await page.goto('/dashboard')
  const left = `The link sent to ${changed} was opened. Email changes once the one sent to ${own.email} is opened too. ${until}`
  await expect(page.getByText(left)).toBeVisible()
  await page.goto('/profile')
  await expect(page.getByText(left)).toBeVisible()
  await openLink(page, await mailTo(own.email, /address/i))
  await expect.poll(() => holder(page)).toBe(changed)
  await page.goto('/profile')
  await expect(page.getByLabel('Email')).toHaveValue(changed)
  await expect(page.getByText(until)).toHaveCount(0)
  await page.context().close()

  const username = `iris_${randomBytes(4).toString('hex')}`
  const invited = {
    email: `${username}@example.com`,
    data: {
      username,
      display_name: 'Iris Dahl',
      package_value: 0,
      referrer_id: await referrerId(),
    },
  }
  const response = await post('invite', invited, serviceKey)
  expect(await response.text()).toContain(invited.email)
  const guest = await (await browser.newContext()).newPage()
  await openLink(guest, await mailTo(invited.email, /invit/i))
  await expect.poll(() => holder(guest)).toBe(invited.email)
  await guest.context().close()
})

test('a link does nothing until it is pressed, then once, and leaves no trace of its key', async ({
  browser,
}) => {
  const [own, other] = [await mara(), await leo()]
  expect((await post('otp', { email: other.email, create_user: false })).ok).toBe(true)
  const link = linkOf(await mailTo(other.email, /sign-in link/))
  const token = new URL(link).searchParams.get('token_hash') ?? ''
  // As programs do that look at what a mail links to.
  for (const method of ['GET', 'HEAD', 'GET']) expect((await fetch(link, { method })).ok).toBe(true)

  const context = await memberBrowser(browser, own)
  const page = await context.newPage()
  const told: string[] = []
  page.on('request', (request) => {
    if (request.url() === link || request.url().endsWith('/auth/v1/verify')) return
    told.push(request.url(), request.headers().referer ?? '')
  })
  await page.goto(link)
  await expect(page.getByRole('heading', { name: 'Sign in' })).toBeVisible()
  await expect(page.locator('meta[name=robots]')).toHaveAttribute('content', 'noindex')
  const open = page.locator('main').getByRole('button', { name: 'Sign in' })
  await expect(open).toBeFocused()
  expect(await violations(page)).toEqual([])
  await page.keyboard.press('Enter')
  await expect(question(page)).toBeVisible()
  expect(await holder(page)).toBe(own.email)
  await page.getByRole('button', { name: 'Continue as Leo Berg' }).click()
  await expect.poll(() => holder(page)).toBe(other.email)
  expect(told.filter((text) => text.includes(token))).toEqual([])
  expect(page.url()).not.toContain('token')
  await page.goBack()
  await expect(page).toHaveURL('about:blank')

  await page.goto(link)
  await page.getByRole('button', { name: 'Sign in' }).last().click()
  await expect(page.getByText('This link has expired or was already used.')).toBeVisible()
  expect(await holder(page)).toBe(other.email)
  await context.close()
})

test('a link for another site, or asked for with PKCE, is opened by the auth service, and a broken one says so', async ({
  page,
}) => {
  const opened: URL[] = []
  await page.route('**/auth/v1/verify?*', (route) => {
    opened.push(new URL(route.request().url()))
    return route.fulfill({ body: 'The auth service leads on.' })
  })
  const links = [
    { token_hash: 'abc', type: 'signup', redirect_to: 'https://app.example.org/welcome?to=here' },
    { token_hash: 'pkce_abc', type: 'magiclink', redirect_to: `${origin}/dashboard` },
  ]
  for (const { token_hash: token, ...rest } of links) {
    await page.goto(`/auth/confirm?${new URLSearchParams({ token_hash: token, ...rest })}`)
    await expect(page.getByText('Then it leads to app.example.org.')).toBeVisible({
      visible: token === 'abc',
    })
    await page.locator('main').getByRole('button').click()
    await expect(page.getByText('The auth service leads on.')).toBeVisible()
    expect(Object.fromEntries(opened.at(-1)?.searchParams ?? [])).toEqual({ token, ...rest })
  }

  for (const query of ['', '?token_hash=abc&type=reauthentication', '?type=signup']) {
    await page.goto(`/auth/confirm${query}`)
    await expect(page.getByRole('heading', { name: 'This link is not complete' })).toBeVisible()
  }
  // What did not reach the server is pressed once more.
  await page.route('**/auth/v1/verify', (route) => route.abort(), { times: 1 })
  await page.goto('/auth/confirm?token_hash=abc&type=recovery')
  await page.getByRole('button', { name: 'Continue' }).click()
  await expect(page.getByText(/^We couldn’t reach the server\./)).toBeVisible()
  await page.getByRole('button', { name: 'Continue' }).click()
  await expect(page).toHaveURL('/link-expired?kind=recovery')
})
