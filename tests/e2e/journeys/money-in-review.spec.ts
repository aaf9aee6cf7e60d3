import { randomBytes } from 'node:crypto'
import { expect, test, type Browser, type Page } from '@playwright/test'
import { filled } from '../filled'
import { Network } from '../network'
import {
  createEarner,
  createMember,
  decideDeposit,
  memberBrowser,
  openAs,
  requestDeposit,
  requestWithdrawal,
  send,
  setWallet,
  signedIn,
  type Account,
  type Person,
} from '../people'
import { receiptPicture } from '../receipt'
import { memberKey, memberSession, need } from '../stack'

// What is sent is seen, is never asked for again, and is sent once, whatever becomes of page, tab, network and session.

async function createPayer(prefix: string): Promise<[Person, Account]> {
  const person = await createMember(prefix)
  const account = await signedIn(person)
  await setWallet(account)
  return [person, account]
}

/** The member's requests as the database has them. */
function made({ token }: Account, table: 'deposits' | 'withdrawals'): Promise<{ id: string }[]> {
  return send(token, 'GET', `/rest/v1/${table}?select=id`)
}

async function fillDeposit(page: Page, reference = randomBytes(32).toString('hex')): Promise<string> {
  await page.getByRole('radio', { name: /Standard/ }).click()
  await page.getByLabel('Reference number').fill(reference)
  await page.locator('input[type=file]').setInputFiles({
    name: 'transfer.png',
    mimeType: 'image/png',
    buffer: receiptPicture(),
  })
  await expect(page.getByText('Receipt uploaded successfully').first()).toBeVisible()
  await page.getByRole('checkbox', { name: 'I understand' }).check()
  return reference
}

const review = (page: Page) => page.getByRole('button', { name: 'Review deposit' })
const submit = (page: Page) => page.getByRole('dialog').getByRole('button', { name: 'Submit $250.00' })
const waiting = (page: Page) => page.getByRole('region', { name: 'Waiting for review' })
const object = (page: Page) => waiting(page).getByRole('article')

for (const width of [1440, 390])
  test(`a deposit that was sent is what one sees and has the focus, at ${width} px`, async ({ browser }) => {
    const [person] = await createPayer('seen')
    const context = await memberBrowser(browser, person, {
      viewport: { width, height: 844 },
    })
    const page = await context.newPage()
    await page.goto('/deposit')
    await fillDeposit(page)
    await review(page).click()
    await submit(page).click()
    const heading = object(page).getByRole('heading', {
      name: 'Deposit, Standard $250.00',
    })
    await expect(heading).toBeFocused()
    await expect(heading).toBeInViewport()
    await expect(object(page)).toContainText('Nothing to do now. Do not send it again.')
    const stops = object(page).getByRole('list', { name: 'Progress' }).getByRole('listitem')
    await expect(stops).toHaveText([/^Sent/, /^In review/, /^Usually decided by/, /^Decided/])
    await expect(stops.nth(1)).toHaveAttribute('aria-current', 'step')
    await expect(object(page)).toContainText('Standard, pairing rate 30.00%, cash-in $250.00')
    await expect(page.locator('.animate-arrive')).toHaveCount(1)
    const [receipt] = await Promise.all([
      page.waitForEvent('popup'),
      object(page).getByRole('button', { name: 'View receipt' }).click(),
    ])
    await expect(receipt).toHaveURL(/\/storage\/v1\/object\/sign\/receipts\//)
    await expect(receipt.locator('img')).toBeVisible()
    await receipt.close()
    // Nothing asks to pay again: no filled button, the form closed, the address out of sight.
    expect(await filled(page)).toEqual([])
    await expect(review(page)).toBeHidden()
    await expect(page.getByText('USDT deposit address, TRC20')).toBeHidden()
    const another = page.getByRole('button', { name: 'Send another deposit' })
    await expect(another).toHaveAccessibleName('Send another deposit Only for a second, separate transfer.')
    await another.click()
    await expect(page.getByLabel('Reference number')).toHaveValue('')

    await page.goto('/dashboard')
    await expect(
      page.getByRole('heading', {
        name: 'Your deposit of $250.00 is waiting for review',
      }),
    ).toBeVisible()
    await expect(page.getByText('Select a package and make your first deposit')).toBeVisible()
    const steps = page.getByRole('list', { name: 'Steps' }).getByRole('listitem')
    await expect(steps).toHaveText([/Done$/, /Done$/, /Done$/, /^4Deposit.*In review$/])
    await expect(steps.nth(3)).toHaveAttribute('aria-current', 'step')
    await expect(page.getByRole('link', { name: 'Go to deposit' })).toHaveCount(0)
    expect(await filled(page)).toEqual([])
    await context.close()
  })

test('each request in review is an object, and a second one is asked about', async ({ browser }) => {
  const [person, account] = await createPayer('two')
  await requestDeposit(account, 100)
  await requestDeposit(account, 1000)
  const page = await openAs(browser, person)
  await page.goto('/deposit')
  await expect(page.getByText('2 requests are in review.')).toBeVisible()
  await expect(object(page)).toHaveCount(2)
  await page.getByRole('button', { name: 'Send another deposit' }).click()
  await fillDeposit(page)
  await review(page).click()
  await expect(page.getByRole('dialog')).toContainText(
    'A deposit of $100.00 is already in review. Submit this one only for a second, separate transfer.',
  )
  await page.context().close()
})

test('a request that takes longer than usual says so, and still asks for nothing', async ({ browser }) => {
  const [person, account] = await createPayer('late')
  await requestDeposit(account, 100)
  const page = await openAs(browser, person)
  await page.clock.install({ time: Date.now() + 25 * 60 * 60 * 1000 })
  await page.goto('/deposit')
  await expect(object(page)).toContainText('This takes longer than usual. It is still in review')
  await expect(object(page)).toContainText('for 1 day')
  await page.context().close()
})

test('a withdrawal that was sent is an object too, on its page and on the dashboard', async ({ browser }) => {
  const [person, account] = await createEarner('payout')
  const page = await openAs(browser, person)
  await page.goto('/withdraw')
  await page.getByLabel('Amount').fill('100')
  await page.getByRole('button', { name: 'Review withdrawal' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Request $100.00' }).click()
  const request = page.getByRole('region', { name: 'Waiting for approval' }).getByRole('article')
  await expect(request.getByRole('heading', { name: 'Withdrawal $100.00' })).toBeFocused()
  await expect(request).toContainText('Processing takes 24-48 hours')
  await expect(page.getByLabel('Amount')).toBeHidden()
  expect(await filled(page)).toEqual([])
  await page.goto('/dashboard')
  const folded = page.getByRole('region', { name: 'In review' })
  await expect(folded).toContainText('Withdrawal of $100.00')
  await expect(folded).toContainText('Nothing to do now.')
  // More of the balance can be requested; while a deposit is in review nothing is asked for.
  expect(await filled(page)).toEqual(['Withdraw'])
  await requestDeposit(account, 75)
  await page.reload()
  await expect(folded.getByRole('article')).toHaveCount(2)
  expect(await filled(page)).toEqual([])
  await folded.getByRole('link', { name: 'Open Withdrawal of $100.00' }).click()
  await expect(page).toHaveURL('/withdraw')
  await page.context().close()
})

test('what is typed survives a reload and the way back, receipt and all, and leaves with its owner', async ({
  browser,
}) => {
  const [person, account] = await createPayer('draft')
  const page = await openAs(browser, person)
  page.on('dialog', (dialog) => void dialog.accept())
  await page.goto('/dashboard')
  await page.goto('/deposit')
  const reference = await fillDeposit(page)
  await page.reload()
  await expect(page.getByLabel('Reference number')).toHaveValue(reference)
  await expect(page.getByRole('radio', { name: /Standard/ })).toBeChecked()
  await expect(page.getByText('transfer.png')).toBeVisible()
  await page.goBack()
  await page.goForward()
  await expect(page.getByLabel('Reference number')).toHaveValue(reference)
  await review(page).click()
  await submit(page).click()
  await expect(object(page)).toHaveCount(1)
  expect(await made(account, 'deposits')).toHaveLength(1)
  await page.reload()
  await expect(object(page)).toHaveCount(1)
  await expect(page.getByLabel('Reference number')).toHaveValue('')

  await page.getByRole('button', { name: 'Send another deposit' }).click()
  await page.getByLabel('Reference number').fill('left behind')
  await page.getByRole('button', { name: 'Sign Out' }).click()
  await expect(page).toHaveURL('/')
  const kept = await page.evaluate(() => JSON.stringify(sessionStorage))
  expect(kept).not.toContain('left behind')
  await page.context().close()
})

/** A page whose network the journey holds in its hands. */
async function openOver(browser: Browser, network: Network, person: Person): Promise<Page> {
  const context = await memberBrowser(browser, person, {
    proxy: network.proxy,
  })
  return context.newPage()
}

const isDeposit = (request: { method?: string; url?: string }) =>
  request.method === 'POST' && /\/rest\/v1\/deposits/.test(request.url ?? '')

test('a deposit whose answer is cut off is found by itself and made once', async ({ browser }) => {
  const [person, account] = await createPayer('cut')
  const network = await Network.open()
  const page = await openOver(browser, network, person)
  await page.goto('/deposit')
  await fillDeposit(page)
  await review(page).click()
  network.cut('unanswered', isDeposit)
  await submit(page).click()
  // The next reading of the list has it: nobody needs to try again.
  await expect(page.getByRole('dialog')).toBeHidden()
  await expect(object(page).getByRole('heading')).toBeFocused()
  expect(await made(account, 'deposits')).toHaveLength(1)
  await page.context().close()
  network.close()
})

test('without any network nobody claims that it was not sent, and after a reload it is made once', async ({
  browser,
}) => {
  const [person, account] = await createPayer('dark')
  const network = await Network.open()
  const page = await openOver(browser, network, person)
  page.on('dialog', (dialog) => void dialog.accept())
  await page.goto('/deposit')
  const reference = await fillDeposit(page)
  await review(page).click()
  network.cut('unanswered', isDeposit)
  await page.route('**/rpc/get_deposit_options', (route) => route.abort())
  await submit(page).click()
  await expect(page.getByRole('dialog')).toContainText(
    'Failed to submit deposit request. Please try again. It may have been sent. Trying again never makes a second deposit.',
  )
  expect(await made(account, 'deposits')).toHaveLength(1)
  await page.unroute('**/rpc/get_deposit_options')
  network.mend()
  await page.reload()
  // It had arrived: the form is empty again and the object stands there.
  await expect(object(page)).toHaveCount(1)
  await expect(object(page)).toContainText(reference.slice(0, 6))
  await expect(page.getByLabel('Reference number')).toHaveValue('')
  expect(await made(account, 'deposits')).toHaveLength(1)
  await page.context().close()
  network.close()
})

test('a deposit sent once more after its decision says that it is decided, and none is made', async ({
  browser,
}) => {
  const [person, account] = await createPayer('decided')
  const network = await Network.open()
  const page = await openOver(browser, network, person)
  await page.goto('/deposit')
  await fillDeposit(page)
  await review(page).click()
  network.cut('unanswered', isDeposit)
  await page.route('**/rpc/get_deposit_options', (route) => route.abort())
  await submit(page).click()
  await expect(page.getByRole('dialog')).toContainText('It may have been sent.')
  const [deposit] = await made(account, 'deposits')
  await decideDeposit(deposit?.id ?? '', { action: 'reject', reason: 'Transaction not found' })
  network.mend()
  await submit(page).click()
  await expect(
    page.getByText('Your deposit had arrived the first time and was not approved. Nothing was sent twice.'),
  ).toBeVisible()
  await expect(page.getByText(/submitted successfully/)).toHaveCount(0)
  await page.unroute('**/rpc/get_deposit_options')
  await page.reload()
  await expect(page.getByLabel('Reference number')).toHaveValue('')
  await expect(object(page)).toHaveCount(0)
  expect(await made(account, 'deposits')).toHaveLength(1)
  await page.context().close()
  network.close()
})

test('a deposit that was lost on the way says what is known, and is sent once with the same id', async ({
  browser,
}) => {
  const [person, account] = await createPayer('lost')
  const network = await Network.open()
  const page = await openOver(browser, network, person)
  page.on('dialog', (dialog) => void dialog.accept())
  await page.goto('/deposit')
  await fillDeposit(page)
  await review(page).click()
  const ids: string[] = []
  page.on('request', (request) => {
    if (isDeposit({ method: request.method(), url: request.url() }))
      ids.push((request.postDataJSON() as { id: string }).id)
  })
  network.cut('lost', isDeposit)
  await submit(page).click()
  await expect(page.getByRole('dialog')).toContainText('It may have been sent.')
  network.mend()
  await page.reload()
  await expect(
    page.getByRole('status').filter({ hasText: 'Your last attempt got no response.' }),
  ).toContainText('before you send it again')
  expect(await made(account, 'deposits')).toEqual([])
  await review(page).click()
  await submit(page).dblclick()
  await expect(object(page)).toHaveCount(1)
  expect(new Set(ids).size).toBe(1)
  expect((await made(account, 'deposits')).map(({ id }) => id)).toEqual([ids[0]])
  await page.context().close()
  network.close()
})

test('a refusal is no "may have been sent"', async ({ browser }) => {
  const [person, account] = await createEarner('refused')
  const page = await openAs(browser, person)
  await page.goto('/withdraw')
  await page.getByLabel('Amount').fill('1100')
  await page.getByRole('button', { name: 'Review withdrawal' }).click()
  await requestWithdrawal(account, 1000)
  await page.getByRole('dialog').getByRole('button', { name: 'Request $1,100.00' }).click()
  await expect(page.getByText('Insufficient balance. Available: $100.00')).toBeVisible()
  await expect(page.getByLabel('Amount')).toHaveValue('1,100.00')
  await expect(page.getByText(/may have been sent/)).toHaveCount(0)
  await page.context().close()
})

test('another tab of the same member sees what the first one sent, and keeps what is typed', async ({
  browser,
}) => {
  const [person, account] = await createPayer('tabs')
  const context = await memberBrowser(browser, person)
  const [first, second] = [await context.newPage(), await context.newPage()]
  await second.goto('/deposit')
  await second.getByLabel('Reference number').fill('typed in the second tab')
  await first.goto('/deposit')
  await fillDeposit(first)
  await review(first).click()
  await submit(first).click()
  await expect(object(first)).toHaveCount(1)
  await second.bringToFront()
  // Headless tabs are all visible; this is what a browser says when one comes back to a tab.
  await second.evaluate(() => document.dispatchEvent(new Event('visibilitychange', { bubbles: true })))
  await expect(object(second)).toHaveCount(1)
  await expect(second.getByLabel('Reference number')).toHaveValue('typed in the second tab')
  await expect(second.getByLabel('Reference number')).toBeVisible()
  expect(await made(account, 'deposits')).toHaveLength(1)
  await context.close()
})

test('a session that ended is renewed over the form, and the deposit is sent once', async ({ browser }) => {
  const [person, account] = await createPayer('ended')
  const page = await openAs(browser, person)
  await page.goto('/deposit')
  const reference = await fillDeposit(page)
  await review(page).click()
  // Ended by the server, as by a new password elsewhere; the page's own token is no longer taken.
  const kept = await page.evaluate((key) => localStorage.getItem(key) ?? '', memberKey)
  const { access_token: token } = JSON.parse(kept) as { access_token: string }
  await fetch(`${new URL(page.url()).origin}/auth/v1/logout?scope=local`, {
    method: 'POST',
    headers: { apikey: need('SUPABASE_ANON_KEY'), authorization: `Bearer ${token}` },
  })
  await submit(page).click()
  const again = page.getByRole('dialog', {
    name: 'Your session ended. Sign in to continue.',
  })
  await again.getByLabel('Password', { exact: true }).fill(person.password)
  await again.getByRole('button', { name: 'Sign in' }).click()
  await expect(again).toBeHidden()
  await submit(page).click()
  await expect(object(page)).toContainText(reference.slice(0, 6))
  expect(await made(account, 'deposits')).toHaveLength(1)
  await page.context().close()
})

test('a form never sends for the account that another tab signed in', async ({ browser }) => {
  const [[mara, before], [leo, after]] = [await createPayer('mara'), await createPayer('leo')]
  const page = await openAs(browser, mara)
  await page.goto('/deposit')
  await expect(page.getByText(`(${mara.username})`)).toBeVisible()
  const reference = await fillDeposit(page)
  await review(page).click()
  const other = await page.context().newPage()
  await other.goto('/')
  const session = JSON.stringify(await memberSession(leo.email, leo.password))
  // As supabase-js in another tab does it: the new session is stored, and the other tabs are told.
  await other.evaluate(
    ([key, value]) => {
      localStorage.setItem(key, value)
      new BroadcastChannel(key).postMessage({
        event: 'SIGNED_IN',
        session: JSON.parse(value) as unknown,
      })
    },
    [memberKey, session] as const,
  )
  await expect(page.getByText(`(${leo.username})`).first()).toBeVisible()
  await expect(page.getByText(`You are now signed in as`)).toBeVisible()
  await expect(page.getByRole('dialog')).toBeHidden()
  await expect(page.getByLabel('Reference number')).not.toHaveValue(reference)
  expect([...(await made(before, 'deposits')), ...(await made(after, 'deposits'))]).toEqual([])
  await page.context().close()
})

test('on a phone a message stands above the bar with the button', async ({ browser }) => {
  const [person] = await createPayer('toast')
  const context = await memberBrowser(browser, person, {
    viewport: { width: 390, height: 844 },
  })
  const page = await context.newPage()
  await page.goto('/deposit')
  await page.locator('input[type=file]').setInputFiles({
    name: 'transfer.png',
    mimeType: 'image/png',
    buffer: receiptPicture(),
  })
  const message = page.locator('[data-sonner-toast]')
  await expect(message).toBeVisible()
  const bar = await review(page).boundingBox()
  await expect
    .poll(async () => {
      const box = await message.boundingBox()
      return box ? box.y + box.height : Infinity
    })
    .toBeLessThanOrEqual((bar?.y ?? 0) - 8)
  await context.close()
})

test('with nothing to request the withdrawal form is closed and says why', async ({ browser }) => {
  const [person, account] = await createPayer('poor')
  await decideDeposit(await requestDeposit(account, 100), {
    action: 'approve',
  })
  const page = await openAs(browser, person)
  await page.goto('/withdraw')
  const form = page.getByRole('button', { name: 'Request a withdrawal' })
  await expect(form).toHaveAccessibleName(
    'Request a withdrawal A withdrawal is at least $100.00; $0.00 can be requested now.',
  )
  await expect(page.getByLabel('Amount')).toBeHidden()
  await form.click()
  await expect(page.getByLabel('Amount')).toBeVisible()
  await page.context().close()
})
