import { randomBytes, randomUUID } from 'node:crypto'
import { expect, test, type Browser, type Page, type Route } from '@playwright/test'
import { walletOf } from '../../api/js/wallet.js'
import {
  administratorBrowser,
  createEarner,
  createMember,
  decideDeposit,
  requestDeposit,
  send,
  setWallet,
  signedIn,
  requestWithdrawal,
  type Account,
  type Person,
} from '../people'

// An administrator knows what is so: after a lost response, while others decide, and of what was paid.

async function openList(browser: Browser): Promise<Page> {
  return (await administratorBrowser(browser)).newPage()
}

/** A member with deposits of these amounts that wait. */
async function waiting(...amounts: number[]): Promise<{ person: Person; account: Account; ids: string[] }> {
  const person = await createMember('desk')
  const account = await signedIn(person)
  await setWallet(account)
  const ids: string[] = []
  for (const amount of amounts) ids.push(await requestDeposit(account, amount))
  return { person, account, ids }
}

async function statusOf({ token }: Account, id: string): Promise<string | undefined> {
  const [row] = await send<{ status: string }[]>(token, 'GET', `/rest/v1/deposits?select=status&id=eq.${id}`)
  return row?.status
}

/** Lets the clock of the page run ahead, as far as the next look at what has changed. */
async function untilLooked(page: Page): Promise<void> {
  await page.clock.fastForward(21_000)
}

// What a gateway says while its service breaks.
const broken = { status: 400, body: '' }
for (const [name, lose] of [
  ['was cut off', (route: Route) => route.abort('connectionreset')],
  ['said nothing', (route: Route) => route.fulfill(broken)],
  ['came from the gateway', (route: Route) => route.fulfill({ status: 504, body: 'Gateway timeout' })],
] as const)
  test(`a decision whose response ${name} is found to be made`, async ({ browser }) => {
    const { person, account, ids } = await waiting(100)
    const page = await openList(browser)
    await page.goto(`/admin/deposits?q=${person.username}`)
    await page.route('**/admin-approve-deposit', async (route) => {
      await route.fetch()
      await lose(route)
    })
    await page
      .getByRole('button', {
        name: `Approve the deposit of ${person.username}`,
      })
      .click()
    await page.getByRole('button', { name: 'Approve $100.00' }).click()
    await expect(page.getByText('Deposit approved successfully')).toBeVisible()
    await expect(page.getByText(`${person.username}, $100.00`)).toBeVisible()
    await expect(page.getByRole('dialog')).toBeHidden()
    await expect(page.getByText('Failed to approve deposit')).toHaveCount(0)
    await expect(page.getByText('No deposits found')).toBeVisible()
    expect(await statusOf(account, ids[0] ?? '')).toBe('approved')
    await page.context().close()
  })

test('without any response it is not known, and what is so is shown on closing', async ({ browser }) => {
  const { person, account, ids } = await waiting(100)
  const page = await openList(browser)
  await page.goto(`/admin/deposits?q=${person.username}`)
  const approve = page.getByRole('button', {
    name: `Approve the deposit of ${person.username}`,
  })
  await approve.click()
  let isCut = true
  await page.route('**/admin-approve-deposit', async (route) => {
    await route.fetch()
    await route.abort('connectionreset')
  })
  await page.route('**/get_request_changes', (route) =>
    isCut ? route.abort('connectionreset') : route.fallback(),
  )
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: 'Approve $100.00' }).click()
  await expect(dialog.getByText(/we don’t know whether this went through/)).toBeVisible()
  await expect(dialog.getByText('It is safe to try again')).toBeVisible()
  await expect(dialog.getByRole('button', { name: 'Try again' })).toBeEnabled()
  await expect(page.getByText('Failed to approve deposit')).toHaveCount(0)
  isCut = false
  await dialog.getByRole('button', { name: 'Close', exact: true }).first().click()
  await expect(dialog).toBeHidden()
  await expect(page.getByText('No deposits found')).toBeVisible()
  expect(await statusOf(account, ids[0] ?? '')).toBe('approved')
  await page.context().close()
})

test('a decision that never arrived is still to be made, and is made by trying again', async ({
  browser,
}) => {
  const { person, account, ids } = await waiting(100)
  const page = await openList(browser)
  await page.goto(`/admin/deposits?q=${person.username}`)
  let isCut = true
  await page.route('**/admin-approve-deposit', (route) =>
    isCut ? route.abort('connectionreset') : route.fallback(),
  )
  await page.getByRole('button', { name: `Approve the deposit of ${person.username}` }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: 'Approve $100.00' }).click()
  await expect(dialog.getByText('This deposit is still pending.')).toBeVisible()
  expect(await statusOf(account, ids[0] ?? '')).toBe('pending')
  isCut = false
  await dialog.getByRole('button', { name: 'Try again' }).click()
  await expect(page.getByText('Deposit approved successfully')).toBeVisible()
  expect(await statusOf(account, ids[0] ?? '')).toBe('approved')
  await page.context().close()
})

test('a list that is open says what is new, and what somebody else decided', async ({ browser }) => {
  const { person, account, ids } = await waiting(100)
  const page = await openList(browser)
  await page.clock.install()
  await page.goto(`/admin/deposits?q=${person.username}`)
  const approve = page.getByRole('button', {
    name: `Approve the deposit of ${person.username}`,
  })
  await approve.focus()
  await decideDeposit(ids[0] ?? '', {
    action: 'reject',
    reason: 'No such transfer',
  })
  await untilLooked(page)
  await expect(page.getByText(/^Rejected by Elin/)).toBeVisible()
  await expect(approve).toHaveAttribute('aria-disabled', 'true')
  await expect(approve).toBeFocused()

  await page.goto('/admin/deposits')
  await expect(page.getByRole('status').filter({ hasText: / of [\d,]+ deposits$/ })).toBeVisible()
  const show = page.getByRole('button', { name: /^\d+ new deposits?: show$/ })
  // Again, in case the request of another test comes after it and begins a new last page.
  await expect(async () => {
    await requestDeposit(account, 50)
    await untilLooked(page)
    await expect(show).toBeVisible()
    await show.click()
    await expect(show).toBeHidden()
    await expect(approve.first()).toBeVisible()
  }).toPass()
  await page.context().close()
})

test('what is to be paid and what was is listed, and one transfer for several is asked back', async ({
  browser,
}) => {
  const [person, account] = await createEarner('payee')
  for (const amount of [110, 120, 130]) await requestWithdrawal(account, amount)
  const page = await openList(browser)
  // Messages of a kind become one while the first is shown: for a minute here, as decisions may take long.
  await page.addInitScript((shownFor) => {
    const usual = setTimeout
    const patient = (act: (...given: unknown[]) => void, after?: number, ...given: unknown[]) =>
      usual(act, after === shownFor ? 60_000 : after, ...given)
    Object.assign(globalThis, { setTimeout: patient })
  }, 5000)
  const paidBy = randomUUID()
  await page.goto(`/admin/withdrawals?q=${person.username}`)
  for (const [amount, reference] of [
    ['$110.00', paidBy],
    ['$120.00', ''],
    ['$130.00', ''],
  ] as const) {
    const approve = page.getByRole('button', { name: /^Approve / })
    // The amount also stands below the member's other requests, in a row without the button.
    const row = page.getByRole('row').filter({ hasText: amount }).filter({ has: approve })
    await row.getByRole('button', { name: /^Approve / }).click()
    if (reference) await page.getByLabel('Payout reference (optional)').fill(reference)
    await page.getByRole('button', { name: `Approve ${amount}` }).click()
    await expect(row).toBeHidden()
  }
  await expect(page.getByText('3 withdrawals approved')).toBeVisible()

  await page.goto(`/admin/withdrawals?status=unpaid&q=${person.username}`)
  await expect(
    page.getByText('Approved withdrawals that are not recorded as paid, oldest first.'),
  ).toBeVisible()
  const rows = page.getByRole('row').filter({ hasText: 'Unpaid' })
  await expect(rows).toHaveCount(2)
  await expect(rows.first()).toContainText('$120.00')
  await rows
    .first()
    .getByRole('button', { name: /^Add the payout reference of / })
    .click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Payout reference').fill(paidBy.toUpperCase())
  await dialog.getByRole('button', { name: 'Add reference' }).click()
  await expect(
    dialog.getByText(`This payout reference is already recorded for $110.00 of ${person.username}.`),
  ).toBeVisible()
  await dialog.getByLabel('One transfer paid all of them').check()
  await dialog.getByRole('button', { name: 'Add reference' }).click()
  await expect(page.getByText('Payout reference added')).toBeVisible()
  await expect(rows).toHaveCount(1)

  // Newest first, as it is no queue.
  await page.goto(`/admin/withdrawals?status=paid&q=${person.username}`)
  await expect(page.getByRole('row').nth(1)).toContainText('$120.00')
  await expect(page.getByRole('row').nth(2)).toContainText('$110.00')
  await expect(page.getByRole('row')).toHaveCount(3)
  await page.context().close()
})

test('offline, nothing that moves money can be pressed', async ({ browser }) => {
  const { person } = await waiting(100)
  const page = await openList(browser)
  await page.goto(`/admin/deposits?q=${person.username}`)
  const approve = page.getByRole('button', {
    name: `Approve the deposit of ${person.username}`,
  })
  await approve.waitFor()
  await page.context().setOffline(true)
  await expect(
    page.getByText(/^You are offline\. Showing the last data loaded at \d\d:\d\d\.$/),
  ).toBeVisible()
  await expect(approve).toHaveAttribute('aria-disabled', 'true')
  await expect(approve).toHaveAttribute('aria-description', 'You are offline.')
  await approve.press('Enter')
  await expect(page.getByRole('dialog')).toHaveCount(0)
  await page.context().setOffline(false)
  await expect(approve).not.toHaveAttribute('aria-disabled', 'true')
  await page.context().close()
})

test('a request shows when it is due and how old the account is', async ({ browser }) => {
  const { person } = await waiting(1000)
  const page = await openList(browser)
  await page.goto(`/admin/deposits?q=${person.username}`)
  await expect(
    page.getByRole('row', { name: new RegExp(person.username) }).getByText(/^due in 4\d h$/),
  ).toBeVisible()
  await expect(page.getByText('Requested less than a minute after signing up')).toBeVisible()
  await page.getByRole('button', { name: person.username, exact: true }).click()
  await expect(page.getByRole('dialog').getByText('less than a minute before this request')).toBeVisible()
  await page.context().close()
})

test('a rejection says nothing of what an approval would do', async ({ browser }) => {
  const reference = randomBytes(32).toString('hex')
  const shared = walletOf(reference)
  const people = await Promise.all(
    [1, 2, 3, 4, 5].map(async () => {
      const person = await createMember('desk')
      const account = await signedIn(person)
      await setWallet(account, shared)
      return { person, account }
    }),
  )
  for (const { account } of people.slice(0, 2)) await requestDeposit(account, 100, reference)
  const [{ person } = { person: { username: '' } }] = people
  const page = await openList(browser)
  await page.goto(`/admin/deposits?q=${person.username}`)
  // One flag, however many they are.
  await expect(page.getByText(/^Also the wallet of \S+, \S+, \S+ and 1 more$/)).toHaveCount(1)
  const dialog = page.getByRole('dialog')
  const decide = (act: string) =>
    page.getByRole('button', { name: `${act} the deposit of ${person.username}` }).click()
  const advice = dialog.getByText('A transaction hash is public.')
  const effects = dialog.getByText(/^(Package|Cash-in)$/)
  await decide('Approve')
  await expect(effects).toHaveText(['Package', 'Cash-in'])
  await expect(dialog.getByText('No package')).toBeVisible()
  await expect(dialog.getByText(/^Same reference as /)).toBeVisible()
  await expect(advice).toBeVisible()
  await page.keyboard.press('Escape')
  await decide('Reject')
  await expect(dialog.getByText(/^Same reference as /)).toBeVisible()
  await expect(effects).toHaveCount(0)
  await expect(advice).toHaveCount(0)
  await page.context().close()
})

test('a withdrawal on hold cannot be approved, and says until when', async ({ browser }) => {
  const [person, account] = await createEarner('held')
  const changed = walletOf(person.username)
  await setWallet(account, changed)
  await requestWithdrawal(account, 100, changed)
  const page = await (await administratorBrowser(browser, { timezoneId: 'Europe/Berlin' })).newPage()
  await page.goto(`/admin/withdrawals?q=${person.username}`)
  const approve = page.getByRole('button', {
    name: `Approve the withdrawal of ${person.username}`,
  })
  await expect(approve).toHaveAttribute('aria-disabled', 'true')
  // In the zone of the list's own times.
  const hold = /^On hold until \d+ \w{3} \d{4} \d\d:\d\d (CET|CEST), 24 hours after a change of wallet$/
  await expect(approve).toHaveAttribute('aria-description', hold)
  await expect(page.getByText(hold)).toBeVisible()
  await page
    .getByRole('button', {
      name: `Reject the withdrawal of ${person.username}`,
    })
    .click()
  await expect(page.getByRole('dialog').getByText('Address', { exact: true })).toBeVisible()
  await expect(page.getByRole('dialog').getByText('Available', { exact: true })).toHaveCount(0)
  await page.context().close()
})
