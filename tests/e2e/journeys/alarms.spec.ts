import { expect, test } from '@playwright/test'
import { checkAfter } from '../ledger'
import { administratorBrowser, createEarner, createFunded, requestWithdrawal, send } from '../people'

const problem = "A member's totals are not the sums of the bonuses and withdrawals, so the balance is wrong."

// Whoever else looks at the ledger meanwhile would find them wrong.
test('a wrong figure stops decisions about its member until a super administrator acknowledges it @alone', async ({
  browser,
}) => {
  const [person, account] = await createEarner('alarm')
  await requestWithdrawal(account, 100)
  const { userId } = account
  const miscount = (by: string) =>
    `update private.totals set reentry_amount = reentry_amount ${by} where user_id = '${userId}'`
  checkAfter(miscount('+ 1'))
  const context = await administratorBrowser(browser)
  try {
    const page = await context.newPage()
    await page.goto(`/admin/withdrawals?q=${person.username}`)
    const banner = page.getByRole('status').filter({ hasText: 'The ledger differs' })
    await expect(banner.first()).toContainText(problem)
    const approve = page.getByRole('button', {
      name: `Approve the withdrawal of ${person.username}`,
    })
    const dialog = page.getByRole('dialog')
    await approve.click()
    await expect(dialog.getByText('this cannot be decided until the alarm is acknowledged')).toBeVisible()
    await dialog.getByRole('button', { name: 'Approve $100.00' }).click()
    const refused = dialog.getByRole('alert')
    await expect(refused).toContainText(`a check of the ledger fails. ${problem}`)
    await refused.getByRole('link', { name: 'See alarms' }).click()

    await expect(page).toHaveURL(/\/admin\/alarms$/)
    const row = page
      .getByRole('list', { name: 'Open alarms' })
      .getByRole('listitem')
      .filter({ hasText: person.username })
    await expect(row).toContainText("Blocks decisions about this member's money")
    await expect(row).toContainText('Check')
    await expect(row.getByRole('link', { name: person.username })).toHaveAttribute('href', /users\?user=/)
    // By the keyboard alone.
    await row.getByRole('button', { name: /^Acknowledge/ }).press('Enter')
    await expect(dialog.getByRole('button', { name: 'Cancel' })).toBeFocused()
    await dialog.getByRole('button', { name: 'Acknowledge' }).press('Enter')
    await expect(dialog.getByText('Give a reason.')).toBeVisible()
    await dialog.getByLabel('Reason').fill('A figure of the journey.')
    await dialog.getByRole('button', { name: 'Acknowledge' }).press('Enter')
    await expect(page.getByText('Alarm acknowledged', { exact: true })).toBeVisible()
    await expect(row).toContainText('Acknowledged: decisions go on until it changes')
    await expect(row).toContainText('A figure of the journey.')

    await page.goto('/admin/dashboard')
    await expect(
      page.getByText('The ledger checks found one problem, which is acknowledged. Last run'),
    ).toBeVisible()
    await expect(banner).toHaveCount(0)

    await page.goto(`/admin/withdrawals?q=${person.username}`)
    await approve.click()
    await dialog.getByRole('button', { name: 'Approve $100.00' }).click()
    await expect(page.getByText('Withdrawal approved', { exact: false })).toBeVisible()
  } finally {
    checkAfter(miscount('- 1'))
  }
  const page = await context.newPage()
  await page.goto('/admin/dashboard')
  await expect(page.getByText('The ledger checks found nothing wrong. Last run')).toBeVisible()
  await page.goto('/admin/alarms')
  const over = page.getByRole('list', { name: 'Alarms that are over' }).getByRole('listitem')
  await expect(over.filter({ hasText: person.username })).toContainText('A figure of the journey.')
  await context.close()
})

test('an alarm names the row by an id that the audit log finds @alone', async ({ browser }) => {
  const [person, account] = await createFunded('named', 100)
  const [deposit] = await send<{ id: string }[]>(account.token, 'GET', '/rest/v1/deposits?select=id')
  const id = deposit?.id ?? ''
  // Another number than its decision's, as no guard lets through.
  const misnumber = () =>
    checkAfter(
      'set session_replication_role = replica',
      `update public.transactions set decision_no = -decision_no where reference_id = '${id}'`,
      'set session_replication_role = origin',
    )
  misnumber()
  const context = await administratorBrowser(browser)
  try {
    const page = await context.newPage()
    await page.goto('/admin/alarms')
    const row = page
      .getByRole('list', { name: 'Open alarms' })
      .getByRole('listitem')
      .filter({ hasText: person.username })
    await expect(row.getByText(`${id.slice(0, 6)}...${id.slice(-4)}`)).toBeVisible()
    await expect(row.getByRole('button', { name: 'Copy id' })).toBeVisible()
    await row.getByRole('link', { name: 'Audit log' }).click()
    await expect(page).toHaveURL(`/admin/audit?q=${id}`)
    await expect(page.getByRole('button', { name: 'Deposit: requested' })).toBeVisible()
  } finally {
    misnumber()
    await context.close()
  }
})
