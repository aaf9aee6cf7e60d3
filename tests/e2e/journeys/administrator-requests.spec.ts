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
  await expect(page.getByRole('button', { name: `Approve the deposit of ${person.username}` })).toBeVisible()
  await expect(page).toHaveURL(/^[^?]*\?q=\w+$/)
  await page.context().close()
})
