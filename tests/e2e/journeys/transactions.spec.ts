import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { expect, test, type Page } from '@playwright/test'
import { violations } from '../accessibility'
import {
  administratorBrowser,
  createEarner,
  decideDeposit,
  financeToken,
  memberBrowser,
  openAs,
  requestDeposit,
  requestWithdrawal,
  send,
} from '../people'
import { administratorSession, need } from '../stack'

// What a member reads of the own money adds up, on the screen, in a file and on paper.

async function decideWithdrawal(id: string, more: object): Promise<void> {
  await send(await financeToken(), 'POST', '/functions/v1/admin-approve-withdrawal', {
    withdrawalId: id,
    ...more,
  })
}

/** A member with $1,100.00 in bonuses: one withdrawal of each state and a refused deposit. */
async function createHistory(): Promise<{
  person: Awaited<ReturnType<typeof createEarner>>[0]
  hash: string
}> {
  const [person, account] = await createEarner('nell')
  const hash = randomBytes(32).toString('hex')
  await decideWithdrawal(await requestWithdrawal(account, 300), { action: 'approve', payoutReference: hash })
  await decideWithdrawal(await requestWithdrawal(account, 200), { action: 'reject', reason: 'Wrong address' })
  await send(account.token, 'POST', '/rest/v1/rpc/cancel_request', {
    p_id: await requestWithdrawal(account, 150),
  })
  await requestWithdrawal(account, 100)
  await decideDeposit(await requestDeposit(account, 75), { action: 'reject', reason: 'Not found' })
  return { person, hash }
}

function row(page: Page, title: string) {
  return page.getByRole('row').filter({ has: page.getByRole('button', { name: title }) })
}

test('each movement has the balance after it, and what moved nothing does not look like one', async ({
  browser,
}) => {
  const { person } = await createHistory()
  const page = await openAs(browser, person)
  await page.goto('/transactions')

  const table = page.getByRole('table', { name: 'Transactions' })
  await expect(table.getByRole('rowheader', { name: /^Today, / })).toBeVisible()
  await expect(row(page, 'Details of Withdrawal, −$300.00').getByText('$800.00')).toBeVisible()
  await expect(row(page, 'Details of Withdrawal, −$100.00').getByText('$800.00')).toBeVisible()
  await expect(
    row(page, 'Details of Withdrawal, −$100.00').getByText('Reserved, not taken yet'),
  ).toBeVisible()
  const cancelled = row(page, 'Details of Withdrawal of $150.00')
  await expect(cancelled.getByText('Cancelled', { exact: true })).toBeVisible()
  await expect(cancelled.getByText('Cancelled by you. Nothing moved.')).toBeVisible()
  await expect(cancelled.getByText('nothing moved', { exact: true })).toBeAttached()
  await expect(cancelled.getByText('−$')).toHaveCount(0)
  await expect(cancelled.getByText('Rejected')).toHaveCount(0)
  const refused = row(page, 'Details of Withdrawal of $200.00')
  await expect(refused.getByText('Rejected', { exact: true })).toBeVisible()
  await expect(refused.getByText('Not approved: Wrong address. Nothing moved.')).toBeVisible()
  await expect(row(page, 'Details of Deposit of $75.00').getByText('Nothing was added.')).toBeVisible()
  await expect(row(page, 'Details of Deposit, +$1,000.00').getByText('$0.00', { exact: true })).toBeVisible()
  expect(await violations(page)).toEqual([])

  // Anywhere in the row opens it, and so does the keyboard.
  const box = await cancelled.boundingBox()
  await cancelled.click({ position: { x: (box?.width ?? 0) - 30, y: 20 } })
  const details = page.getByRole('dialog')
  await expect(details.getByText('You cancelled this withdrawal of $150.00.')).toBeVisible()
  await expect(details.getByText('Cancelled', { exact: true }).first()).toBeVisible()
  await expect(details.getByRole('term')).toContainText(['To', 'Balance after'])
  await expect(details.getByText('Paid to')).toHaveCount(0)
  await page.keyboard.press('Escape')
  await expect(details).toBeHidden()
  const button = page.getByRole('button', { name: 'Details of Withdrawal, −$300.00' })
  await button.focus()
  await page.keyboard.press('Enter')
  await expect(details.getByText('$800.00')).toBeVisible()
  await expect(details.getByRole('term').filter({ hasText: 'Paid to' })).toBeVisible()
  await page.keyboard.press('Escape')

  const notices = page.getByRole('main').getByRole('listitem')
  const amount = (title: string) => notices.filter({ hasText: title }).getByText(/^[+−]?\$[\d,.]+$/)
  // The worker notifies of what was earned, a moment after the decision.
  await expect(async () => {
    await page.goto('/notifications')
    await expect(amount('You earned').first()).toBeVisible({ timeout: 2000 })
  }).toPass({ timeout: 60_000 })
  await expect(amount('You earned').first()).toHaveText(/^\+\$/)
  await expect(amount('Withdrawal approved')).toHaveText('$300.00')
  await expect(amount('Withdrawal approved')).toHaveCSS('font-weight', '600')
  await expect(amount('Withdrawal rejected')).toHaveText('$200.00')
  await expect(amount('Withdrawal rejected')).toHaveCSS('font-weight', '400')

  await page.goto('/dashboard')
  const latest = page.getByRole('region', { name: 'Latest transactions' })
  await expect(latest.getByText('Cancelled', { exact: true })).toBeVisible()
  await expect(latest.getByText('−$150.00')).toHaveCount(0)

  // Administrators read the same word.
  const admin = await administratorBrowser(browser)
  for (const path of ['withdrawals?status=all&q=', 'transactions?q=']) {
    const list = await admin.newPage()
    await list.goto(`/admin/${path}${person.username}`)
    await expect(list.getByRole('row', { name: /\$150\.00/ }).getByText('Cancelled')).toBeVisible()
    await expect(list.getByText('−$150.00')).toHaveCount(0)
  }
  await admin.close()
  await page.context().close()
})

test('the figures of the month are as tall on the narrowest phone before they are read as after', async ({
  browser,
}) => {
  const { person } = await createHistory()
  const page = await openAs(browser, person)
  await page.setViewportSize({ width: 320, height: 640 })
  let release = () => {}
  const held = new Promise<void>((resolve) => (release = resolve))
  await page.route('**/rpc/get_statement', async (route) => {
    await held
    await route.continue()
  })
  await page.goto('/transactions')
  const card = page.locator('.card-box').filter({ hasText: /Loading this month|Balance now/ })
  // Once the member is known, and with it the note of what is reserved.
  await expect(page.getByRole('button', { name: 'Statement' })).toBeVisible()
  await expect(page.getByText('Loading this month')).toBeAttached()
  await expect(page.getByRole('button', { name: 'Details of Withdrawal, −$300.00' })).toBeVisible()
  const before = (await card.boundingBox())?.height
  release()
  await expect(card.getByText('$800.00')).toBeVisible()
  expect((await card.boundingBox())?.height).toBe(before)
  await page.context().close()
})

test('presets set the two days, and the file has the balance', async ({ browser }) => {
  const { person } = await createHistory()
  const page = await openAs(browser, person)
  await page.goto('/transactions')
  const today = new Date().toISOString().slice(0, 10)
  const preset = page.getByRole('button', { name: 'This month' })
  await preset.click()
  await expect(preset).toHaveAttribute('aria-pressed', 'true')
  await expect(page.getByLabel('From, UTC')).toHaveValue(`${today.slice(0, 8)}01`)
  await expect(page.getByLabel('To, UTC')).toHaveValue(today)
  await expect(page.getByRole('button', { name: 'Details of Withdrawal, −$300.00' })).toBeVisible()
  await page.getByRole('button', { name: 'Last month' }).click()
  await expect(page.getByText('No transactions found')).toBeVisible()
  await page.getByRole('button', { name: 'Last month' }).click()
  await expect(page.getByLabel('From, UTC')).toHaveValue('')

  const download = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Export CSV' }).click()
  const text = await readFile(await (await download).path(), 'utf8')
  expect(text).toMatch(/,withdrawal,-300\.00,approved,.*,800\.00\r\n/)
  expect(text).toMatch(/,withdrawal,-150\.00,cancelled,/)
  await page.context().close()
})

test('a month has a statement that adds up, for the screen, for paper and as a file', async ({ browser }) => {
  const { person } = await createHistory()
  const page = await (await memberBrowser(browser, person, { colorScheme: 'dark' })).newPage()
  await page.goto('/transactions')
  await page.getByRole('button', { name: 'Statement' }).click()
  await page.getByRole('menuitem').first().click()
  await expect(page.getByRole('heading', { level: 1, name: /^Statement, / })).toBeVisible()
  await expect(page.getByText(/UTC days, so far/)).toBeVisible()
  const summary = page.getByRole('region', { name: 'Summary' })
  for (const [label, amount] of [
    [/^Opening balance/, '$0.00'],
    ['Referral bonuses', '+$100.00'],
    ['Pairing bonuses', '+$1,000.00'],
    ['Withdrawals approved', '−$300.00'],
    ['Balance now', '$800.00'],
  ] as const)
    await expect(
      summary
        .locator('div')
        .filter({ has: page.getByText(label) })
        .last(),
    ).toContainText(amount)
  await expect(summary.getByText('$1,000.00', { exact: true })).toBeVisible()
  const movements = page.getByRole('table', { name: 'Movements' })
  await expect(movements.getByRole('row').last()).toContainText('$800.00')
  expect(await violations(page)).toEqual([])

  const download = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Download CSV' }).click()
  const text = await readFile(await (await download).path(), 'utf8')
  expect(text.trim().split('\r\n')).toHaveLength(6)
  expect(text).toMatch(/,withdrawal,.*,-300\.00,yes,800\.00,/)

  for (const path of [page.url(), '/transactions']) {
    await page.goto(path)
    await expect(page.getByRole('table')).toBeVisible()
    const onScreen = await page.evaluate(() => getComputedStyle(document.body).color)
    await page.emulateMedia({ media: 'print' })
    await expect(page.getByText(`Ilse Brandt (${person.username})`)).toBeVisible()
    await expect(page.getByText(/Printed \d+ \w+ \d{4} \d\d:\d\d/)).toBeVisible()
    for (const name of [/CSV$/, 'Print', 'Statement'])
      await expect(page.getByRole('button', { name, exact: true })).toHaveCount(0)
    await expect(page.getByRole('search')).toBeHidden()
    await expect(page.getByRole('combobox')).toHaveCount(0)
    await expect(page.getByRole('navigation')).toHaveCount(0)
    await expect(page.getByText(/ago$|just now|Today/).filter({ visible: true })).toHaveCount(0)
    // White paper takes dark ink, whatever the theme.
    expect(await page.evaluate(() => getComputedStyle(document.body).color)).not.toBe(onScreen)
    await page.emulateMedia({ media: 'screen' })
  }
  await page.context().close()
})

test('a phone has the days as cards, without sideways scrolling', async ({ browser }) => {
  const { person } = await createHistory()
  const page = await (
    await memberBrowser(browser, person, { viewport: { width: 390, height: 844 }, hasTouch: true })
  ).newPage()
  await page.goto('/transactions')
  const day = page.getByRole('region', { name: /^Today, / })
  const card = day.getByRole('listitem').filter({ hasText: 'Withdrawal of $150.00' })
  await expect(card.getByText('Cancelled', { exact: true })).toBeVisible()
  await expect(card.getByText('$800.00')).toBeVisible()
  await card.tap({ position: { x: 300, y: 50 } })
  await expect(page.getByRole('dialog', { name: 'Withdrawal of $150.00' })).toBeVisible()
  await page.keyboard.press('Escape')
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390)
  expect(await violations(page)).toEqual([])
  await page.context().close()
})

test('a transaction hash leads to the operator’s block explorer @alone', async ({ browser }) => {
  const { person, hash } = await createHistory()
  const owner = await administratorSession(need('DEMO_ADMIN_EMAIL'), need('DEMO_ADMIN_PASSWORD'))
  const set = (value: string | null) =>
    send(owner.access_token, 'POST', '/functions/v1/admin-settings', {
      action: 'change',
      key: 'explorer.url',
      value,
    })
  await set('https://explorer.example/#/transaction/{hash}')
  const admin = await administratorBrowser(browser)
  try {
    const page = await openAs(browser, person)
    const link = page.getByRole('link', { name: /^Open payout reference .* in the block explorer/ })
    // What a page begins with may be two seconds old.
    await expect(async () => {
      await page.goto('/transactions')
      await expect(link).toHaveAttribute('href', `https://explorer.example/#/transaction/${hash}`, {
        timeout: 3_000,
      })
    }).toPass()
    await expect(link).toHaveAttribute('target', '_blank')
    await expect(link).toHaveAttribute('rel', 'noopener noreferrer')
    // The link is the link, not the row.
    await page.route('https://explorer.example/**', (route) => route.abort())
    const [opened] = await Promise.all([page.waitForEvent('popup'), link.click()])
    await opened.close()
    await expect(page.getByRole('dialog')).toBeHidden()
    await page.context().close()

    const list = await admin.newPage()
    await list.goto(`/admin/deposits?status=all&q=${person.username}`)
    await expect(
      list.getByRole('link', { name: /^Open reference .* in the block explorer/ }).first(),
    ).toHaveAttribute('href', /^https:\/\/explorer\.example\/#\/transaction\/[0-9a-f]{64}$/)
  } finally {
    await set(null)
    await admin.close()
  }
})
