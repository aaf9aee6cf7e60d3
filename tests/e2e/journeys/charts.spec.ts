import { expect, test } from '@playwright/test'
import { administratorBrowser, createEarner, openAs } from '../people'

// Charts begin and end with whole periods, and say of the running one that it runs.

test('caption, axis and table of a chart say the same, and the running period says so', async ({
  browser,
}) => {
  const [person] = await createEarner('karl')
  const page = await openAs(browser, person)
  for (const [path, name] of [
    ['/dashboard?view=advanced&tab=bonuses', 'Earnings by type'],
    ['/dashboard?view=advanced&tab=network', 'Team growth'],
  ] as const) {
    await page.goto(path)
    const card = page.getByRole('region', { name })
    await expect(card.getByText(/^By week, .*, the last week so far\./)).toBeVisible()
    const caption = (await card.getByText(/^By week, /).textContent()) ?? ''
    const first = /^By week, (\d+ \w+ \d{4}) to /.exec(caption)?.[1] ?? ''
    expect(new Date(`${first} UTC`).getUTCDay()).toBe(1)
    await card.scrollIntoViewIfNeeded()
    const axis = card.locator('.recharts-cartesian-axis-tick-value')
    await expect(axis.filter({ hasText: first.replace(/ \d{4}$/, '') })).toBeVisible()
    await card.getByRole('button', { name: 'Show as table' }).click()
    await expect(card.getByRole('row')).toHaveCount(14)
    await expect(card.getByRole('row').nth(1)).toContainText(`Week of ${first}`)
    await expect(card.getByRole('row').nth(1)).not.toContainText('so far')
    await expect(card.getByRole('row').last()).toContainText('so far')
  }
  await page.context().close()
})

test('the step of today stands apart from the border of the chart', async ({ browser }) => {
  const [person] = await createEarner('step')
  const page = await openAs(browser, person)
  await page.goto('/dashboard?view=advanced&tab=network')
  const card = page.getByRole('region', { name: 'Team growth' })
  await card.scrollIntoViewIfNeeded()
  const line = card.locator('path.recharts-line-curve').first()
  await expect(line).toBeAttached()
  const space = await card.evaluate((element) => {
    const curve = element.querySelector('path.recharts-line-curve')?.getBoundingClientRect()
    const grid = element.querySelector('.recharts-cartesian-grid')?.getBoundingClientRect()
    return (grid?.right ?? 0) - (curve?.right ?? 0)
  })
  expect(space).toBeGreaterThan(12)
  await page.context().close()
})

test('deposits and withdrawals are drawn by day, week or month, and the address keeps the range', async ({
  browser,
}) => {
  await createEarner('flow')
  const context = await administratorBrowser(browser)
  const page = await context.newPage()
  await page.goto('/admin/dashboard?tab=financial')
  const card = page.getByRole('region', { name: /^Deposits and withdrawals by / })
  const choose = (name: string) => card.getByRole('radio', { name, exact: true }).click()
  const before = card.getByText(/^[+−]?\$[\d,.]+ in \d+ \w+ \d{4} to \d+ \w+ \d{4}$/)
  await expect(card.getByText(/^By day, .*, the last day so far\. Net [+−]?\$/)).toBeVisible()
  await expect(before).toBeVisible()
  await card.getByRole('button', { name: 'Show as table' }).click()
  await expect(card.getByRole('row')).toHaveCount(31)
  await choose('90 d')
  await expect(card.getByRole('heading', { name: 'Deposits and withdrawals by week' })).toBeVisible()
  await expect(card.getByRole('row')).toHaveCount(14)
  await choose('12 m')
  await expect(card.getByText(/^By month, /)).toBeVisible()
  await expect(card.getByRole('row')).toHaveCount(13)
  await expect(card.getByRole('row').last()).toContainText(/, so far/)
  await expect(page).toHaveURL(/range=12m/)
  await page.reload()
  await expect(card.getByText(/^By month, /)).toBeVisible()
  await choose('All')
  await expect(page).toHaveURL(/range=all/)
  await expect(card.locator('.recharts-cartesian-axis-tick-value').first()).toBeVisible()
  await context.close()
})
