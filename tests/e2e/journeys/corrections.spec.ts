import { randomUUID } from 'node:crypto'
import { expect, test, type Page } from '@playwright/test'
import {
  administratorBrowser,
  createEarner,
  createFunded,
  financeToken,
  openAs,
  requestWithdrawal,
  send,
  type Account,
  type Person,
} from '../people'
import { need } from '../stack'

// What was decided is undone by two administrators: one proposes, another confirms.

const finance = { email: need('DEMO_FINANCE_EMAIL'), password: need('DEMO_FINANCE_PASSWORD') }

/** A member with one approved deposit of $100.00. */
async function depositor(): Promise<Person> {
  const [person] = await createFunded('undone', 100)
  return person
}

/** An approved withdrawal of $100.00 that is not paid yet. */
async function unpaidWithdrawal(account: Account): Promise<void> {
  await send(await financeToken(), 'POST', '/functions/v1/admin-approve-withdrawal', {
    withdrawalId: await requestWithdrawal(account, 100),
    action: 'approve',
  })
}

async function propose(page: Page, act: string): Promise<void> {
  await page.getByRole('dialog').getByRole('button', { name: act }).click()
  const dialog = page.getByRole('dialog').last()
  await expect(dialog.getByRole('button', { name: 'Cancel' })).toBeFocused()
  await dialog.getByRole('button', { name: 'Propose correction' }).click()
  await expect(dialog.getByText('Give a reason.')).toBeVisible()
  await dialog.getByLabel('Reason').fill('The transfer was recalled.')
  await dialog.getByRole('button', { name: 'Propose correction' }).click()
  await expect(page.getByText('Correction proposed')).toBeVisible()
}

async function proposePackage(page: Page, { username }: Person, size: RegExp): Promise<void> {
  await page.getByRole('dialog').getByRole('button', { name: 'Set the package' }).click()
  const dialog = page.getByRole('dialog', { name: `Set the package of ${username}?` })
  await dialog.getByLabel('Reason').fill('Promised at the fair.')
  await dialog.getByRole('button', { name: 'Propose correction' }).click()
  await expect(dialog.getByText('Choose a package.')).toBeVisible()
  await dialog.getByRole('combobox', { name: 'New package' }).click()
  await page.getByRole('option', { name: size }).click()
  await dialog.getByRole('button', { name: 'Propose correction' }).click()
  await expect(page.getByText('Correction proposed')).toBeVisible()
}

/** Takes the only proposal for this member back, on the corrections page. */
async function discard(page: Page, { username }: Person): Promise<void> {
  const own = page.getByRole('listitem').filter({ hasText: username })
  await own.getByRole('button', { name: /^Discard/ }).click()
  const dialog = page.getByRole('dialog')
  await expect(dialog.getByText('Nothing else changes. It can be proposed again.')).toBeVisible()
  await dialog.getByRole('button', { name: 'Discard proposal' }).click()
  await expect(page.getByText('Proposal discarded', { exact: true })).toBeVisible()
  await expect(own).toHaveCount(0)
}

test('a deposit that was voided by two administrators no longer counts', async ({ browser }) => {
  const person = await depositor()
  const first = await (await administratorBrowser(browser)).newPage()
  await first.goto(`/admin/deposits?status=all&q=${person.username}`)
  await first.getByRole('button', { name: person.username, exact: true }).click()
  await propose(first, 'Void this deposit')
  await first.getByRole('dialog').getByRole('link', { name: 'A correction waits' }).click()
  await expect(first).toHaveURL(/\/admin\/corrections$/)
  const own = first.getByRole('listitem').filter({ hasText: person.username })
  await expect(own.getByText(/^Another administrator must confirm a correction\. Who can: /)).toBeVisible()
  await expect(own.getByRole('button', { name: /^Confirm/ })).toHaveCount(0)

  const second = await (await administratorBrowser(browser, {}, finance)).newPage()
  await second.goto('/admin/dashboard')
  await expect(second.getByText(/corrections? waits? for a second administrator\.$/)).toBeVisible()
  await second.getByRole('link', { name: 'Review corrections' }).click()
  const waiting = second.getByRole('list', { name: 'Waiting for confirmation' }).getByRole('listitem')
  await waiting
    .filter({ hasText: person.username })
    .getByRole('button', { name: 'Confirm: Void the deposit of $100.00' })
    .click()
  const dialog = second.getByRole('dialog', { name: 'Void the deposit of $100.00?' })
  await expect(dialog.getByRole('button', { name: 'Cancel' })).toBeFocused()
  await expect(dialog.getByText(person.username)).toBeVisible()
  await expect(dialog.getByText('The transfer was recalled.')).toBeVisible()
  await dialog.getByRole('button', { name: 'Confirm correction' }).click()
  await expect(second.getByText('Correction confirmed', { exact: true })).toBeVisible()
  await expect(
    second
      .getByRole('list', { name: 'Latest confirmed' })
      .getByRole('listitem')
      .filter({ hasText: person.username }),
  ).toBeVisible()

  await first.goto(`/admin/deposits?status=all&q=${person.username}`)
  await expect(
    first.getByRole('row', { name: new RegExp(person.username) }).getByText('Voided'),
  ).toBeVisible()
  await first.getByRole('button', { name: person.username, exact: true }).click()
  await expect(first.getByRole('dialog').getByRole('term').getByText('Voided')).toBeVisible()
  await expect(first.getByRole('button', { name: 'Void this deposit' })).toHaveCount(0)
  const member = await openAs(browser, person)
  await member.goto('/transactions')
  await expect(member.getByText('−$100.00').first()).toBeVisible()
  for (const page of [first, second, member]) await page.context().close()
})

test('a package is set by two administrators, after a mistaken proposal was discarded', async ({
  browser,
}) => {
  const person = await depositor()
  const first = await (await administratorBrowser(browser)).newPage()
  await first.goto(`/admin/users?q=${person.username}`)
  await first.getByRole('button', { name: person.username, exact: true }).click()
  await proposePackage(first, person, /\$1,000\.00/)

  await first.getByRole('dialog').getByRole('link', { name: 'A correction waits' }).click()
  await discard(first, person)
  await first.goto(`/admin/users?q=${person.username}`)
  await first.getByRole('button', { name: person.username, exact: true }).click()
  await proposePackage(first, person, /\$500\.00/)

  const second = await (await administratorBrowser(browser, {}, finance)).newPage()
  await second.goto('/admin/corrections')
  await second
    .getByRole('button', { name: `Confirm: Set the package of ${person.username} to $500.00` })
    .click()
  await second.getByRole('dialog').getByRole('button', { name: 'Confirm correction' }).click()
  await expect(second.getByText('Correction confirmed', { exact: true })).toBeVisible()
  await first.goto(`/admin/users?q=${person.username}`)
  await expect(
    first.getByRole('row', { name: new RegExp(person.username) }).getByText('$500.00'),
  ).toBeVisible()
  for (const page of [first, second]) await page.context().close()
})

/** Shows this person's corrections alone, as on a day with no others. */
async function showOnly(page: Page, { username }: Person): Promise<void> {
  await page.route('**/rpc/list_corrections', async (route) => {
    const response = await route.fetch()
    const { waiting, confirmed } = (await response.json()) as Record<string, { username: string }[]>
    const own = waiting?.filter((correction) => correction.username === username)
    await route.fulfill({ response, json: { waiting: own, confirmed } })
  })
}

test('who confirms the last proposal after it was discarded is told so', async ({ browser }) => {
  const person = await depositor()
  const first = await (await administratorBrowser(browser)).newPage()
  await first.goto(`/admin/users?q=${person.username}`)
  await first.getByRole('button', { name: person.username, exact: true }).click()
  await proposePackage(first, person, /\$500\.00/)

  const second = await (await administratorBrowser(browser, {}, finance)).newPage()
  await showOnly(second, person)
  await second.goto('/admin/corrections')
  await second.getByRole('button', { name: /^Confirm: Set the package/ }).click()
  await first.goto('/admin/corrections')
  await discard(first, person)
  const dialog = second.getByRole('dialog')
  await dialog.getByRole('button', { name: 'Confirm correction' }).click()
  await expect(dialog.getByText('This correction was discarded.')).toBeVisible()
  // The page behind it is hidden from who hears it, until the dialog is closed.
  await dialog.getByRole('button', { name: 'Close' }).last().click()
  await expect(second.getByText('No corrections waiting')).toBeVisible()
  for (const page of [first, second]) await page.context().close()
})

test('how a withdrawal was paid can be recorded later, and what waited to void it is rejected', async ({
  browser,
}) => {
  const [person, account] = await createEarner('paidlater')
  await unpaidWithdrawal(account)
  const first = await (await administratorBrowser(browser)).newPage()
  await first.goto(`/admin/withdrawals?status=all&q=${person.username}`)
  await first.getByRole('button', { name: person.username, exact: true }).click()
  await propose(first, 'Void this withdrawal')

  const second = await (await administratorBrowser(browser, {}, finance)).newPage()
  await second.goto('/admin/corrections')
  await second
    .getByRole('listitem')
    .filter({ hasText: person.username })
    .getByRole('button', { name: 'Confirm: Void the withdrawal of $100.00' })
    .click()

  await first.getByRole('button', { name: 'Add payout reference' }).click()
  const payout = first.getByRole('dialog', { name: 'Add the payout reference of $100.00?' })
  await payout.getByRole('button', { name: 'Add reference' }).click()
  await expect(payout.getByText('Enter the payout reference.')).toBeVisible()
  await payout.getByLabel('Payout reference').fill('to\u202epaid')
  await payout.getByRole('button', { name: 'Add reference' }).click()
  await expect(payout.getByText('A payout reference has at most 200 characters, on one line.')).toBeVisible()
  const reference = randomUUID()
  await payout.getByLabel('Payout reference').fill(reference)
  await payout.getByRole('button', { name: 'Add reference' }).click()
  await expect(first.getByText('Payout reference added')).toBeVisible()
  await expect(first.getByRole('dialog').getByText(reference)).toBeVisible()
  await expect(first.getByRole('button', { name: 'Add payout reference' })).toHaveCount(0)

  const dialog = second.getByRole('dialog')
  await dialog.getByRole('button', { name: 'Confirm correction' }).click()
  await expect(dialog.getByText('Only an approved withdrawal that was not paid can be voided.')).toBeVisible()
  await dialog.getByRole('button', { name: 'Close' }).last().click()
  await expect(
    second
      .getByRole('listitem')
      .filter({ hasText: person.username })
      .getByText('This can no longer be confirmed: what it would correct has changed.'),
  ).toBeVisible()
  await discard(second, person)
  for (const page of [first, second]) await page.context().close()
})
