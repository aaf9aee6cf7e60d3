import { readFileSync } from 'node:fs'
import { expect, test, type Page } from '@playwright/test'
import { administratorBrowser, createMember, signedIn } from '../people'

/** Saves the list on the page and reads the file, which has as many rows as the list. */
async function saveAsFile(page: Page, noun: string): Promise<{ columns: string; rows: string[] }> {
  const count = await page.getByText(new RegExp(`of [\\d,]+ ${noun}`)).innerText()
  const total = Number(/of ([\d,]+)/.exec(count)?.[1]?.replaceAll(',', ''))
  const saved = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Export CSV' }).click()
  const [columns = '', ...rows] = readFileSync(await (await saved).path(), 'utf8')
    .trimEnd()
    .split('\r\n')
  expect(rows.length).toBe(total)
  return { columns, rows }
}

/** Lets the page's processor do a sixth of its work: what races shows. */
async function slowDown(page: Page): Promise<void> {
  const session = await page.context().newCDPSession(page)
  await session.send('Emulation.setCPUThrottlingRate', { rate: 6 })
}

test.describe('what administrators do beside decisions on money', () => {
  let page: Page

  test.beforeEach(async ({ browser }) => {
    const context = await administratorBrowser(browser, {})
    page = await context.newPage()
  })
  test.afterEach(async () => {
    await page.context().close()
  })

  test('a member is found, suspended with a reason, and let in again', async () => {
    const person = await createMember('listed')
    const account = await signedIn(person)
    await page.goto('/admin/users')
    await page.getByRole('searchbox', { name: 'Search users...' }).fill(person.username.toUpperCase())
    await page.getByRole('button', { name: `Details of ${person.username}` }).click()
    const sheet = page.getByRole('dialog', { name: person.username })
    await expect(sheet.getByText(person.email)).toBeVisible()
    await expect(sheet.getByText('Net balance', { exact: true })).toBeVisible()

    await sheet.getByRole('button', { name: 'Suspend' }).click()
    const question = page.getByRole('dialog', {
      name: `Suspend ${person.username}?`,
    })
    await question.getByRole('button', { name: 'Suspend' }).click()
    await expect(question.getByText('Give a reason.')).toBeVisible()
    await question.getByLabel('Reason').fill('Two people use this account')
    await question.getByRole('button', { name: 'Suspend' }).click()
    await expect(page.getByText('Account suspended')).toBeVisible()
    const refused = await page.request.get('/rest/v1/deposits?select=id', {
      headers: {
        apikey: account.token,
        authorization: `Bearer ${account.token}`,
      },
    })
    expect(refused.ok()).toBe(false)

    await sheet.getByRole('button', { name: 'Reactivate' }).click()
    const back = page.getByRole('dialog', {
      name: `Reactivate ${person.username}?`,
    })
    await back.getByLabel('Reason').fill('Settled')
    await back.getByRole('button', { name: 'Reactivate' }).click()
    await expect(page.getByText('Account reactivated')).toBeVisible()

    await sheet.getByRole('button', { name: 'Set pending' }).click()
    const paused = page.getByRole('dialog', {
      name: `Set pending: ${person.username}?`,
    })
    await expect(paused.getByText('They can still sign in, but not deposit or withdraw.')).toBeVisible()
    await paused.getByLabel('Reason').fill('Identity is being checked')
    await paused.getByRole('button', { name: 'Set pending' }).click()
    await expect(page.getByText('Account set to pending')).toBeVisible()

    await sheet.getByLabel('Notes').fill('Asked twice about the plan.')
    await sheet.getByRole('button', { name: 'Save notes' }).click()
    await expect(page.getByText('Notes saved')).toBeVisible()
    await page.reload()
    await expect(page.getByRole('dialog', { name: person.username }).getByLabel('Notes')).toHaveValue(
      'Asked twice about the plan.',
    )
  })

  test('what is opened while a search waits for the next key stays open', async () => {
    const { username } = await createMember('kept')
    await slowDown(page)
    for (const wait of [200, 240, 280]) {
      await page.goto('/admin/users')
      const details = page.getByRole('button', { name: `Details of ${username}` })
      await details.waitFor()
      await page.getByRole('searchbox').fill(username)
      await page.waitForTimeout(wait)
      await details.evaluate((button: HTMLElement) => button.click())
      await expect(page).toHaveURL(/q=kept/)
      await expect(page).toHaveURL(/user=/)
      await page.waitForTimeout(500)
      await expect(page.getByRole('dialog', { name: username })).toBeVisible()
    }
  })

  test('keys pressed while a search is carried out are not taken back', async () => {
    const { username } = await createMember('steadily')
    await slowDown(page)
    await page.goto('/admin/users')
    await page
      .getByRole('button', { name: /^Details of / })
      .first()
      .waitFor()
    // Each key comes about when the search for the one before starts.
    await page.getByRole('searchbox').pressSequentially(username, { delay: 310 })
    await expect(page.getByRole('searchbox')).toHaveValue(username)
    await expect(page).toHaveURL(new RegExp(`q=${username}`))
    await expect(page.getByRole('button', { name: /^Details of / })).toHaveCount(1)
  })

  test('a search without a match says so and can be cleared', async () => {
    await page.goto('/admin/users?q=nobody_is_called_this')
    await expect(page.getByText('No users found')).toBeVisible()
    await page.getByRole('button', { name: 'Clear filters' }).click()
    await expect(page.getByRole('button', { name: /^Details of / }).first()).toBeVisible()
    await page.goto('/admin/bots?q=nobody_is_called_this')
    await expect(page.getByText('No subscriptions found matching your search.')).toBeVisible()
  })

  test('the journal is filtered and saved as a file of the same rows', async () => {
    await page.goto('/admin/transactions')
    await page.getByRole('combobox', { name: 'Type' }).click()
    await page.getByRole('option', { name: 'Bonuses' }).click()
    await expect(page.getByRole('cell', { name: 'bonus', exact: true }).first()).toBeVisible()
    await expect(page.getByRole('cell', { name: 'deposit', exact: true })).toHaveCount(0)
    const { columns } = await saveAsFile(page, 'transactions')
    expect(columns).toBe('created_at,username,email,transaction_type,amount,status,reference_id')
  })

  test('the requests that wait are saved as a file', async () => {
    await page.goto('/admin/deposits')
    const { columns, rows } = await saveAsFile(page, 'deposits')
    expect(columns).toBe(
      'created_at,username,email,amount,reference_number,status,decided_at,voided_at,admin_notes',
    )
    expect(rows.every((row) => row.includes(',pending,'))).toBe(true)
  })

  test('what was done stands in the audit log', async () => {
    await page.goto('/admin/audit?action=admin')
    await page.getByRole('button', { name: 'Admin: signed in' }).first().click()
    await expect(page.getByRole('dialog', { name: 'Admin: signed in' }).getByText('Address')).toBeVisible()
  })

  test('a password that does not fit is explained before anything is sent', async () => {
    await page.goto('/admin/settings')
    await page.getByRole('button', { name: 'Change password' }).click()
    await expect(page.getByText('All fields are required').first()).toBeVisible()
    await page.getByLabel('Current password').fill('whatever-it-is')
    await page.getByLabel('New password', { exact: true }).fill('quay-and-mooring')
    await page.getByLabel('Confirm new password').fill('quay-and-moorings')
    await page.getByRole('button', { name: 'Change password' }).click()
    await expect(page.getByText('New passwords do not match')).toBeVisible()
    await page.getByLabel('Confirm new password').fill('quay-and-mooring')
    await page.getByRole('button', { name: 'Change password' }).click()
    await expect(page.getByText('Failed to update password')).toBeVisible()
    await expect(page.getByLabel('New password', { exact: true })).toHaveValue('quay-and-mooring')
  })

  test('an account is made, its password shown once, and switched off', async () => {
    const email = `kept_${Date.now()}@example.com`
    await page.goto('/admin/administrators')
    await page.getByRole('button', { name: 'New administrator' }).click()
    const form = page.getByRole('dialog', { name: 'New administrator' })
    await form.getByLabel('Full name').fill('Kim Berg')
    await form.getByLabel('Email').fill(email)
    await form.getByRole('button', { name: 'Create account' }).click()
    await expect(page.getByText(`Password of ${email}`)).toBeVisible()
    await page.getByRole('button', { name: `Change ${email}` }).click()
    await page.getByRole('menuitem', { name: 'Deactivate' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Deactivate' }).click()
    await expect(page.getByText('Account deactivated')).toBeVisible()
    await page.reload()
    const row = page.getByRole('listitem').filter({ hasText: email })
    await expect(row.getByText('Inactive')).toBeVisible()
    await expect(page.getByText(`Password of ${email}`)).toHaveCount(0)
  })

  test('a setting is changed within its limits', async () => {
    await page.goto('/admin/readiness')
    await expect(page.getByRole('heading', { name: /^Demo: \d+ of 10 items missing$/ })).toBeVisible()
    const change = page.getByRole('button', {
      name: 'Change Hours within which a withdrawal is decided',
    })
    await change.click()
    const form = page.getByRole('dialog')
    const field = form.getByLabel('review.due_hours')
    const before = await field.inputValue()
    await field.fill('9999')
    await form.getByRole('button', { name: 'Save' }).click()
    await expect(form.locator('.text-destructive').first()).toBeVisible()
    await field.fill('47')
    await form.getByRole('button', { name: 'Save' }).click()
    await expect(page.getByText('Setting saved')).toBeVisible()
    await expect(page.getByRole('listitem').filter({ hasText: 'review.due_hours' })).toContainText('47')
    await change.click()
    await form.getByLabel('review.due_hours').fill(before)
    await form.getByRole('button', { name: 'Save' }).click()
    await expect(page.getByRole('listitem').filter({ hasText: 'review.due_hours' })).toContainText(before)
  })
})
