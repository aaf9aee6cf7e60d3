import { expect, test, type Page, type Route } from '@playwright/test'
import { walletOf } from '../../api/js/wallet.js'
import { createEarner, createMember, openAs, send, type Account } from '../people'

// A request is made once for each time the member means it: neither lost, nor sent behind their back.

/** The member's requests as the database has them, oldest first. */
function requests({ token }: Account): Promise<{ amount: number; status: string }[]> {
  return send(token, 'GET', '/rest/v1/withdrawals?select=amount,status&order=created_at.asc')
}

async function review(page: Page, amount: string): Promise<void> {
  await page.getByLabel('Amount').fill(amount)
  await page.getByRole('button', { name: 'Review withdrawal' }).click()
}

async function request(page: Page): Promise<void> {
  await review(page, '100')
  await page.getByRole('dialog').getByRole('button', { name: 'Request $100.00' }).click()
  await expect(page.getByRole('dialog')).toBeHidden()
}

test('the same amount asked for again is a request of its own', async ({ browser }) => {
  const [person, account] = await createEarner('ines')
  const page = await openAs(browser, person)
  await page.goto('/withdraw')
  const named = `Ilse Brandt (${person.username})`
  await expect(page.getByText(`This withdrawal is from the balance of ${named}`)).toBeVisible()
  await review(page, '100')
  await expect(page.getByRole('dialog').getByText(named)).toBeVisible()
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
  const waiting = page.getByRole('region', { name: 'Waiting for approval' }).getByRole('article')
  const another = page.getByRole('button', {
    name: 'Request another withdrawal',
  })
  await request(page)
  await expect(waiting).toHaveCount(1)
  await another.click()
  await request(page)
  await expect(waiting).toHaveCount(2)

  await page.getByRole('button', { name: 'Cancel withdrawal of $100.00' }).first().click()
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel withdrawal' }).click()
  await expect(waiting).toHaveCount(1)
  await another.click()
  await request(page)
  await expect(waiting).toHaveCount(2)
  const made = await requests(account)
  expect(made.map(({ amount }) => amount)).toEqual([100, 100, 100])
  expect(made.filter(({ status }) => status === 'pending')).toHaveLength(2)
  await page.context().close()
})

// PostgREST's response while a database connection breaks: 400 without a word, whether it was carried out or not.
const broken = { status: 400, json: { code: '', details: null, hint: null, message: '' } }

/** Spoils the first two responses to a request, whether it was carried out or not; returns how often it did. */
async function spoil(page: Page, isDone: boolean, respond: (route: Route) => Promise<void>) {
  let spoilt = 0
  await page.route('**/rest/v1/withdrawals?**', async (route) => {
    if (route.request().method() !== 'POST' || spoilt > 1) return route.fallback()
    spoilt += 1
    if (isDone) await route.fetch()
    return respond(route)
  })
  return () => spoilt
}

for (const [name, respond] of [
  ['was lost', (route: Route) => route.abort()],
  ['broke off', (route: Route) => route.fulfill(broken)],
] as const)
  test(`a request that was made although its response ${name} is found, and made once`, async ({
    browser,
  }) => {
    const [person, account] = await createEarner('lost')
    const page = await openAs(browser, person)
    await page.goto('/withdraw')
    const spoilt = await spoil(page, true, respond)
    await review(page, '100')
    await page.getByRole('dialog').getByRole('button', { name: 'Request $100.00' }).click()
    // The next reading of the list has it; nobody has to try again.
    await expect(page.getByRole('dialog')).toBeHidden()
    await expect(page.getByRole('region', { name: 'Waiting for approval' }).getByRole('article')).toHaveCount(
      1,
    )
    expect(spoilt()).toBe(1)
    expect(await requests(account)).toHaveLength(1)
    await page.context().close()
  })

for (const [name, isDone] of [
  ['after it was made', true],
  ['before it was made', false],
] as const)
  test(`a request whose response broke off ${name} is made once, however often it is sent again`, async ({
    browser,
  }) => {
    const [person, account] = await createEarner('lost')
    const page = await openAs(browser, person)
    await page.goto('/withdraw')
    const spoilt = await spoil(page, isDone, (route) => route.fulfill(broken))
    // What would tell that it was made is not to be had either.
    await page.route('**/rpc/get_withdraw_options', (route) => route.abort())
    await review(page, '100')
    const dialog = page.getByRole('dialog')
    const confirm = dialog.getByRole('button', { name: 'Request $100.00' })
    const failed = dialog.getByText('Failed to submit withdrawal request. Please try again.')
    await confirm.click()
    await expect(failed).toContainText('It may have been sent.')
    // What was typed is still there, and is the same request when it is reviewed again.
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await expect(page.getByLabel('Amount')).toHaveValue(/^100(\.00)?$/)
    await expect(page.getByText('Your last attempt got no response.')).toBeVisible()
    await page.getByRole('button', { name: 'Review withdrawal' }).click()
    await confirm.click()
    await expect(failed).toBeVisible()
    await confirm.click()
    await expect(dialog).toBeHidden()
    expect(spoilt()).toBe(2)
    expect(await requests(account)).toHaveLength(1)
    await page.context().close()
  })

test('what was given up offline is not sent once the network is back', async ({ browser }) => {
  const [person, account] = await createEarner('olaf')
  const page = await openAs(browser, person)
  await page.goto('/withdraw')
  await review(page, '100')
  await page.context().setOffline(true)
  const dialog = page.getByRole('dialog')
  await expect(dialog.getByText('You are offline.')).toBeVisible()
  await expect(dialog.getByRole('button', { name: 'Request $100.00' })).toHaveAttribute(
    'aria-disabled',
    'true',
  )
  // By key: a forced click does not wait until the dialog stands still.
  await dialog.getByRole('button', { name: 'Request $100.00' }).press('Enter')
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await expect(dialog).toBeHidden()
  await page.context().setOffline(false)
  // Two places say it until both know better.
  await expect(page.getByText(/^You are offline/)).toHaveCount(0)
  await page.waitForLoadState('networkidle')
  expect(await requests(account)).toEqual([])
  await page.context().close()
})

test('a change that is saved offline fails at once, and stays unsaved', async ({ browser }) => {
  const page = await openAs(browser, await createMember('otto'))
  await page.goto('/settings')
  // The rules of a form come when it is first touched: the network must bring them before it goes away.
  await page.getByRole('button', { name: 'Save address' }).click()
  await expect(page.getByText('Wallet address required')).toBeVisible()
  await page.getByLabel('TRC20 wallet address').fill(walletOf('otto'))
  await page.context().setOffline(true)
  // It moves the page: a press before it and a release after it would not be a click.
  await expect(page.getByText(/^You are offline/)).toBeVisible()
  await page.getByRole('button', { name: 'Save address' }).click()
  await expect(page.getByText('Failed to update profile. Please try again.')).toBeVisible()
  await page.context().setOffline(false)
  await expect(page.getByText(/^You are offline/)).toBeHidden()
  await page.reload()
  await expect(page.getByLabel('TRC20 wallet address')).toHaveValue('')
  await page.context().close()
})
