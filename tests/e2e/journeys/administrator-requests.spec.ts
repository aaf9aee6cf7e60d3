import { randomBytes } from 'node:crypto'
import { expect, test, type Browser, type Page } from '@playwright/test'
import { walletOf } from '../../api/js/wallet.js'
import {
  administratorBrowser,
  createEarner,
  createMember,
  requestDeposit,
  requestWithdrawal,
  send,
  setWallet,
  signedIn,
} from '../people'
import { need, origin } from '../stack'

// What administrators see of requests for money, beyond the one way round that money goes.

async function openList(browser: Browser): Promise<Page> {
  return (await administratorBrowser(browser)).newPage()
}

test('a page past the last one gives way to the last one', async ({ browser }) => {
  const person = await createMember('paged')
  const account = await signedIn(person)
  await setWallet(account)
  await requestDeposit(account, 100)
  const page = await openList(browser)
  await page.goto(`/admin/deposits?q=${person.username}&page=2`)
  await expect(
    page.getByRole('button', {
      name: `Approve the deposit of ${person.username}`,
    }),
  ).toBeVisible()
  await expect(page).toHaveURL(/^[^?]*\?q=\w+$/)
  await page.context().close()
})

test('the details lead from one request to the next', async ({ browser }) => {
  const person = await createMember('stepped')
  const account = await signedIn(person)
  await setWallet(account)
  for (const amount of [50, 100]) await requestDeposit(account, amount)
  const page = await openList(browser)
  await page.goto(`/admin/deposits?q=${person.username}`)
  await page.getByRole('button', { name: person.username, exact: true }).first().click()
  const sheet = page.getByRole('dialog', {
    name: `Deposit of ${person.username}`,
  })
  const amount = sheet.getByRole('definition').nth(1)
  await expect(amount).toHaveText('$50.00')
  await expect(sheet.getByRole('button', { name: 'Previous' })).toHaveAttribute('aria-disabled', 'true')
  await sheet.getByRole('button', { name: 'Next' }).press('Enter')
  await expect(amount).toHaveText('$100.00')
  await expect(sheet.getByRole('button', { name: 'Next' })).toBeFocused()
  await expect(sheet.getByRole('button', { name: 'Next' })).toHaveAttribute('aria-disabled', 'true')
  await sheet.getByRole('button', { name: 'Previous' }).press('Enter')
  await expect(amount).toHaveText('$50.00')
  await page.context().close()
})

test('a role that cannot open a page sees that, and requests nothing', async ({ browser }) => {
  const support = { email: need('DEMO_SUPPORT_EMAIL'), password: need('DEMO_SUPPORT_PASSWORD') }
  const context = await administratorBrowser(browser, {}, support)
  const page = await context.newPage()
  for (const [path, heading] of [
    ['/admin/administrators', 'Administrators'],
    ['/admin/readiness', 'Readiness'],
  ] as const) {
    await page.goto(path)
    await expect(page.getByRole('heading', { level: 1, name: heading })).toBeVisible()
    await expect(page.getByText('Your role (support_admin) cannot open this page.')).toBeVisible()
    await expect(page.getByRole('button', { name: 'Retry' })).toHaveCount(0)
  }
  await page.getByRole('link', { name: 'Back to the dashboard' }).click()
  await expect(page).toHaveURL(/\/admin\/dashboard$/)
  await context.close()
})

test('how a withdrawal was paid is recorded with its approval', async ({ browser }) => {
  const [{ username }, account] = await createEarner('earner')
  await requestWithdrawal(account, 100.5)
  const page = await openList(browser)
  await page.goto(`/admin/withdrawals?q=${username}`)
  const row = page.getByRole('row', { name: /\$100\.50/ })
  await row.getByRole('button', { name: /^Reject / }).click()
  await expect(page.getByLabel('Payout reference (optional)')).toHaveCount(0)
  await page.keyboard.press('Escape')
  await row.getByRole('button', { name: /^Approve / }).click()
  const dialog = page.getByRole('dialog', {
    name: 'Approve withdrawal of $100.50?',
  })
  const reference = dialog.getByLabel('Payout reference (optional)')
  await reference.fill('x'.repeat(201))
  await expect(dialog.getByText('A payout reference has at most 200 characters.')).toBeVisible()
  const paidBy = randomBytes(32).toString('hex')
  await reference.fill(` ${paidBy} `)
  await dialog.getByRole('button', { name: 'Approve $100.50' }).click()
  await expect(page.getByText('Withdrawal approved successfully')).toBeVisible()
  const [paid] = await send<{ payout_reference: string }[]>(
    account.token,
    'GET',
    `/rest/v1/withdrawals?select=payout_reference&payout_reference=eq.${paidBy}`,
  )
  expect(paid?.payout_reference).toBe(paidBy)
  await page.context().close()
})

test('a payout that is warned of asks for a reason, and keeps what was typed', async ({ browser }) => {
  const [{ username }, account] = await createEarner('earner')
  await setWallet(await signedIn(await createMember('shares')), walletOf(account.userId))
  const withdrawal = await requestWithdrawal(account, 100)
  const page = await openList(browser)
  await page.goto(`/admin/withdrawals?q=${username}`)
  await page.getByRole('button', { name: `Approve the withdrawal of ${username}` }).click()
  const dialog = page.getByRole('dialog')
  const reference = dialog.getByLabel('Payout reference (optional)')
  const reason = dialog.getByLabel('Why it was paid all the same')
  await reference.fill(randomBytes(32).toString('hex'))
  await dialog.getByRole('button', { name: 'Approve $100.00' }).click()
  await expect(reason).toBeFocused()
  await expect(reason).toHaveAccessibleDescription(/^Also the wallet of shares_\w+\. /)
  await page.keyboard.type('They share it.')
  // Another reference is another transfer, to the same wallet.
  const paidBy = randomBytes(32).toString('hex')
  await reference.fill(paidBy)
  await expect(reason).toHaveValue('They share it.')
  // Without one nothing is recorded, and nothing asked.
  await reference.fill('')
  await expect(reason).toHaveCount(0)
  await dialog.getByRole('button', { name: 'Approve $100.00' }).click()
  await expect(page.getByText('Withdrawal approved successfully')).toBeVisible()

  await page.goto(`/admin/withdrawals?status=unpaid&q=${username}`)
  await page.getByRole('button', { name: `Add the payout reference of ${username}` }).click()
  await dialog.getByLabel('Payout reference').fill(paidBy)
  await dialog.getByRole('button', { name: 'Add reference' }).click()
  await expect(reason).toBeFocused()
  await dialog.getByRole('button', { name: 'Add reference' }).click()
  await expect(dialog.getByText('Give a reason.')).toBeVisible()
  await expect(reason).toBeFocused()
  await page.keyboard.type('They share it.')
  await dialog.getByRole('button', { name: 'Add reference' }).click()
  await expect(page.getByText('Payout reference added')).toBeVisible()
  const [paid] = await send<object[]>(account.token, 'GET', `/rest/v1/withdrawals?id=eq.${withdrawal}`)
  expect(paid).toMatchObject({ payout_reference: paidBy })
  expect(JSON.stringify(paid)).not.toContain('They share it.')
  await page.context().close()
})

test('a receipt that is a PDF opens with a signature made for that press', async ({ browser }) => {
  const person = await createMember('papers')
  const account = await signedIn(person)
  await setWallet(account)
  await requestDeposit(account, 100)
  const page = await openList(browser)
  await page.route('**/admin-list-deposits', async (route) => {
    const response = await route.fetch()
    await route.fulfill({
      response,
      body: (await response.text()).replaceAll('.png', '.pdf'),
    })
  })
  let signatures = 0
  await page.route('**/admin-get-receipt', (route) =>
    route.fulfill({
      json: { signedUrl: `${origin}/risk?signature=${++signatures}` },
    }),
  )
  await page.goto(`/admin/deposits?q=${person.username}`)
  await page.getByRole('button', { name: `View the receipt of ${person.username}` }).click()
  const opened = page.context().waitForEvent('page')
  await page.getByText('Open the PDF in a new window').click()
  await expect(await opened).toHaveURL(`${origin}/risk?signature=2`)
  await page.context().close()
})
