import { expect, test, type Browser, type Page } from '@playwright/test'
import { administratorBrowser, createMember, requestDeposit, setWallet, signedIn } from '../people'

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
