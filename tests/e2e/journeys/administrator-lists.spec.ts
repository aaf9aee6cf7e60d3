import { readFileSync } from 'node:fs'
import { expect, test, type Page } from '@playwright/test'
import {
  administratorBrowser,
  createEarner,
  createMember,
  requestDeposit,
  setWallet,
  signedIn,
} from '../people'

/** Saves the list on the page and reads the file. */
async function saveAsFile(page: Page): Promise<{ columns: string; rows: string[] }> {
  const saved = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Export CSV' }).click()
  const [columns = '', ...rows] = readFileSync(await (await saved).path(), 'utf8')
    .trimEnd()
    .split('\r\n')
  return { columns, rows }
}

/** Lets the page's processor do a sixth of its work during an act: what races shows. */
async function slowly(page: Page, act: () => Promise<void>): Promise<void> {
  const session = await page.context().newCDPSession(page)
  await session.send('Emulation.setCPUThrottlingRate', { rate: 6 })
  await act()
  await session.detach()
}

test.describe('what administrators do apart from decisions on money', () => {
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
    const rejected = await page.request.get('/rest/v1/deposits?select=id', {
      headers: {
        apikey: account.token,
        authorization: `Bearer ${account.token}`,
      },
    })
    expect(rejected.ok()).toBe(false)

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
    for (const wait of [200, 240, 280]) {
      // Of the newest fifty, however many others sign up: no search need be there to see it.
      const { username } = await createMember('kept')
      const details = page.getByRole('button', { name: `Details of ${username}` })
      await page.goto('/admin/users?size=50')
      await details.waitFor()
      await slowly(page, async () => {
        await page.getByRole('searchbox').fill(username)
        await page.waitForTimeout(wait)
        await details.evaluate((button: HTMLElement) => button.click())
        await expect(page).toHaveURL(/q=kept/)
        await expect(page).toHaveURL(/user=/)
        await page.waitForTimeout(500)
        // On a sixth of a processor that others use too.
        await expect(page.getByRole('dialog', { name: username })).toBeVisible({ timeout: 60_000 })
      })
    }
  })

  test('keys pressed while a search runs are not undone', async () => {
    const { username } = await createMember('ada')
    await page.goto('/admin/users')
    await page
      .getByRole('button', { name: /^Details of / })
      .first()
      .waitFor()
    await slowly(page, async () => {
      // Each key comes about when the search for the one before starts.
      await page.getByRole('searchbox').pressSequentially(username, { delay: 310 })
      await expect(page.getByRole('searchbox')).toHaveValue(username)
      await expect(page).toHaveURL(new RegExp(`q=${username}`))
      await expect(page.getByRole('button', { name: /^Details of / })).toHaveCount(1)
    })
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
    // Of one member: the others' rows may become more at any time.
    const [{ username }] = await createEarner('filed')
    await page.goto(`/admin/transactions?q=${username}`)
    await expect(page.getByRole('cell', { name: 'deposit', exact: true })).toBeVisible()
    await page.getByRole('combobox', { name: 'Type' }).click()
    await page.getByRole('option', { name: 'Bonuses' }).click()
    await expect(page.getByRole('cell', { name: 'deposit', exact: true })).toHaveCount(0)
    const bonuses = page.getByRole('cell', { name: 'bonus', exact: true })
    await expect(bonuses).toHaveCount(3)
    const { columns, rows } = await saveAsFile(page)
    expect(columns).toBe('created_at,username,email,transaction_type,amount,status,reference_id')
    expect(rows).toHaveLength(3)
    expect(rows.every((row) => row.includes(`,${username},`) && row.includes(',bonus,'))).toBe(true)
  })

  test('the requests that wait are saved as a file', async () => {
    const person = await createMember('filed')
    const account = await signedIn(person)
    await setWallet(account)
    for (const amount of [50, 100]) await requestDeposit(account, amount)
    await page.goto(`/admin/deposits?q=${person.username}`)
    await expect(page.getByText('of 2 deposits')).toBeVisible()
    const { columns, rows } = await saveAsFile(page)
    expect(rows).toHaveLength(2)
    expect(columns).toBe(
      'created_at,username,email,amount,received_amount,reference_number,further_references,status,decided_at,voided_at,admin_notes',
    )
    expect(rows.every((row) => row.includes(',pending,'))).toBe(true)
  })

  test('the dashboard counts what the database counts', async () => {
    // Others go on meanwhile: what counts is the last response that the page got.
    let stats: Record<string, string | number> = {}
    page.on('response', async (response) => {
      if (response.url().includes('/rpc/get_admin_dashboard_stats'))
        [stats = {}] = (await response.json()) as Record<string, string | number>[]
    })
    await page.goto('/admin/dashboard')
    const panel = page.getByRole('tabpanel')
    // Others may be so many by now that a figure has a comma.
    const count = (value: unknown) => Number(value).toLocaleString('en-US')
    await expect(async () => {
      await expect(panel).toContainText(`Total users${count(stats.total_users)}`, { timeout: 1000 })
      await expect(panel).toContainText(`Pending deposits${count(stats.pending_deposits)}`, { timeout: 1000 })
    }).toPass()
    await page.getByRole('tab', { name: 'Financial' }).click()
    await expect(async () => {
      const deposits = Number(stats.total_deposits).toLocaleString('en-US', { minimumFractionDigits: 2 })
      await expect(panel).toContainText(`Total deposits$${deposits}`, { timeout: 1000 })
    }).toPass()
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
    await expect(page.getByRole('heading', { name: /^Demo: \d+ of 14 items missing$/ })).toBeVisible()
    // One that nothing is decided by, as other tests run in parallel.
    const change = page.getByRole('button', { name: 'Change Who answers, wherever a text says' })
    await change.click()
    const form = page.getByRole('dialog')
    const field = form.getByLabel('support.name')
    const row = page.getByRole('listitem').filter({ hasText: 'support.name' })
    const before = await field.inputValue()
    await field.fill('x'.repeat(121))
    await form.getByRole('button', { name: 'Save' }).click()
    await expect(form.locator('.text-destructive').first()).toBeVisible()
    await field.fill('Harbour desk')
    await form.getByRole('button', { name: 'Save' }).click()
    await expect(page.getByText('Setting saved')).toBeVisible()
    await expect(row).toContainText('Harbour desk')
    await change.click()
    await field.fill(before)
    await form.getByRole('button', { name: 'Save' }).click()
    await expect(row).toContainText(before)
  })
})
