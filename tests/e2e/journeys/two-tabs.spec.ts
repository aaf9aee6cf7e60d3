import { expect, test } from '@playwright/test'
import {
  administratorBrowser,
  createMember,
  decideDeposit,
  memberBrowser,
  openAs,
  requestDeposit,
  send,
  setWallet,
  signedIn,
  type Account,
} from '../people'
import { need } from '../stack'

// What a page shows may be old: another tab, or the back button. The server decides, and the page reads again.
// threats: T133

async function memberWithDeposit(prefix: string): Promise<[string, Account, string]> {
  const person = await createMember(prefix)
  const account = await signedIn(person)
  await setWallet(account)
  return [person.username, account, await requestDeposit(account, 100)]
}

/** What the database says of a deposit. */
async function statusOf({ token }: Account, deposit: string): Promise<string | undefined> {
  const [row] = await send<{ status: string }[]>(
    token,
    'GET',
    `/rest/v1/deposits?select=status&id=eq.${deposit}`,
  )
  return row?.status
}

test('of two tabs that decide one deposit the first one counts, and the second one reads again', async ({
  browser,
}) => {
  const [username, account, deposit] = await memberWithDeposit('tabs')
  const finance = { email: need('DEMO_FINANCE_EMAIL'), password: need('DEMO_FINANCE_PASSWORD') }
  const administrator = await administratorBrowser(browser, {}, finance)
  const [first, second] = [await administrator.newPage(), await administrator.newPage()]
  for (const tab of [first, second]) {
    await tab.goto(`/admin/deposits?q=${username}`)
    await expect(tab.getByRole('button', { name: `Reject the deposit of ${username}` })).toBeVisible()
  }
  await second.getByRole('button', { name: `Approve the deposit of ${username}` }).click()
  await first.bringToFront()
  await first.getByRole('button', { name: `Reject the deposit of ${username}` }).click()
  await first.getByLabel('Rejection Reason').fill('Sent twice')
  const decided = first.waitForResponse((response) => response.url().endsWith('/admin-approve-deposit'))
  await first.getByRole('button', { name: 'Reject $100.00' }).click()
  expect((await decided).status()).toBe(200)

  await second.bringToFront()
  const rejected = second.waitForResponse((response) => response.url().endsWith('/admin-approve-deposit'))
  await second.getByRole('button', { name: 'Approve $100.00' }).click()
  expect((await rejected).status()).toBe(409)
  const dialog = second.getByRole('dialog')
  await expect(dialog.getByText(/Already rejected by Elin Dahl/)).toBeVisible()
  await expect(dialog.getByText(/Sent twice/)).toBeVisible()
  await second.getByRole('button', { name: 'Close' }).last().click()
  await expect(second.getByText('No deposits found')).toBeVisible()
  expect(await statusOf(account, deposit)).toBe('rejected')

  await first.bringToFront()
  await first.getByRole('link', { name: 'Dashboard' }).first().click()
  await expect(first).toHaveURL(/\/admin\/dashboard/)
  await first.goBack()
  await expect(first.getByText('No deposits found')).toBeVisible()
  await administrator.close()
})

test('the way back offers no decision that was made elsewhere meanwhile', async ({ browser }) => {
  const [username, , deposit] = await memberWithDeposit('back')
  const administrator = await administratorBrowser(browser)
  const page = await administrator.newPage()
  await page.goto(`/admin/deposits?q=${username}`)
  const approve = page.getByRole('button', { name: `Approve the deposit of ${username}` })
  await expect(approve).toBeVisible()
  await page.goto('/admin/dashboard')
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible()
  await decideDeposit(deposit, { action: 'reject', reason: 'Sent twice' })
  await page.goBack()
  await expect(page.getByText('No deposits found')).toBeVisible()
  await expect(approve).toBeHidden()
  await administrator.close()
})

test('a member who cancels what was decided meanwhile sees that and the current state', async ({
  browser,
}) => {
  const person = await createMember('late')
  const account = await signedIn(person)
  await setWallet(account)
  const deposit = await requestDeposit(account, 100)
  const page = await openAs(browser, person)
  await page.goto('/deposit')
  await page.getByRole('button', { name: 'Cancel deposit of $100.00' }).click()
  await decideDeposit(deposit, { action: 'approve' })
  const rejected = page.waitForResponse((response) => response.url().includes('/rpc/cancel_request'))
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel deposit' }).click()
  expect((await rejected).status()).toBe(409)
  await expect(page.getByText(/^Already approved/).first()).toBeVisible()
  await expect(page.getByRole('region', { name: 'Waiting for review' })).toBeHidden()
  expect(await statusOf(account, deposit)).toBe('approved')
  await page.context().close()
})

test('when another member signs in in one tab, the other tab shows nothing of the first member', async ({
  browser,
}) => {
  const [before, after] = [await createMember('anna'), await createMember('berit')]
  const context = await memberBrowser(browser, before)
  const [first, second] = [await context.newPage(), await context.newPage()]
  for (const tab of [first, second]) {
    await tab.goto('/profile')
    await expect(tab.getByLabel('Username')).toHaveValue(before.username)
  }
  await first.bringToFront()
  await first.getByRole('button', { name: 'Sign Out' }).click()
  await expect(first).toHaveURL('/')
  // A sign-out on purpose leaves nothing to read in another tab.
  await expect(second).toHaveURL('/sign-in?redirect=%2Fprofile')
  await expect(second.getByText(before.username)).toHaveCount(0)
  await expect(second.getByRole('dialog')).toHaveCount(0)
  await first.getByRole('banner').getByRole('link', { name: 'Sign in' }).click()
  await first.getByLabel('Email').fill(after.email)
  await first.getByLabel('Password', { exact: true }).fill(after.password)
  await first.getByRole('button', { name: 'Sign in' }).click()
  await expect(first).toHaveURL(/\/dashboard/)
  await second.bringToFront()
  await expect(second.getByLabel('Username')).toHaveValue(after.username)
  await expect(second.getByText(before.username)).toHaveCount(0)
  await context.close()
})
