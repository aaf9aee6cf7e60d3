import { expect, test } from '@playwright/test'
import { createFunded, openAs } from '../people'
import { need } from '../stack'

const demo = () => ({ email: need('DEMO_MEMBER_EMAIL'), password: need('DEMO_MEMBER_PASSWORD') })

test('the team tree is walked with the keyboard alone', async ({ browser }) => {
  const page = await openAs(browser, demo())
  await page.goto('/dashboard?view=advanced&tab=tree')
  const tree = page.getByRole('treegrid', { name: 'Team tree of mara_l' })
  const row = (name: RegExp) => tree.getByRole('row', { name })
  await row(/Mara Lindholm/).focus()
  await page.keyboard.press('ArrowDown')
  await expect(row(/Erik Sand/)).toBeFocused()
  await page.keyboard.press('ArrowRight')
  await expect(row(/Marta Kovar/)).toBeVisible()
  await expect(row(/Erik Sand/)).toHaveAttribute('aria-expanded', 'true')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowLeft')
  await expect(row(/Erik Sand/)).toBeFocused()
  await page.keyboard.press('ArrowLeft')
  await expect(row(/Marta Kovar/)).toBeHidden()
  await page.keyboard.press('Enter')
  await expect(page.getByRole('dialog', { name: 'Erik Sand' })).toContainText(/Whole team\s*[1-9]/)
  await page.context().close()
})

test('the referral link is copied whole, and its code saved as a picture', async ({ browser }) => {
  const page = await openAs(browser, demo())
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await page.goto('/dashboard')
  await page.getByRole('button', { name: 'Copy referral link' }).click()
  await expect(page.getByText('Referral link copied to clipboard!')).toBeVisible()
  const copied = await page.evaluate(() => navigator.clipboard.readText())
  expect(copied).toContain(`/sign-up?ref=${need('DEMO_REFERRAL_CODE')}`)
  await page.getByRole('button', { name: 'Show QR Code' }).click()
  await expect(page.getByRole('img', { name: 'QR code of your referral link' })).toBeVisible()
  const saved = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Download QR' }).click()
  expect((await saved).suggestedFilename()).toBe('mara_l.png')
  await page.context().close()
})

test('with the highest package nothing leads to a next one', async ({ browser }) => {
  const [person] = await createFunded('top', 1000)
  const page = await openAs(browser, person)
  await page.goto('/packages')
  await expect(page.getByText('This is the highest package.')).toBeVisible()
  await expect(page.getByRole('link', { name: 'Go to deposit' })).toHaveCount(0)
  await page.goto('/deposit')
  await expect(page.getByRole('heading', { name: 'Other amount', exact: true })).toBeVisible()
  await page.context().close()
})

test('what checks forms comes after the first page of a member, and unasked', async ({ browser }) => {
  const page = await openAs(browser, demo())
  const checks = page.waitForResponse(
    async (response) => response.url().endsWith('.js') && (await response.text()).includes('jitless'),
  )
  await page.goto('/dashboard')
  const url = (await checks).url()
  const began = () => page.evaluate((name) => performance.getEntriesByName(name)[0]?.startTime ?? 0, url)
  // The browser notes it a moment after it has arrived.
  await expect.poll(began).toBeGreaterThan(5000)
  await page.context().close()
})

test('on a phone the chart is fetched once more is opened and one scrolls to it', async ({ browser }) => {
  const page = await openAs(browser, demo())
  await page.setViewportSize({ width: 390, height: 844 })
  const fetched = () =>
    page.evaluate(() =>
      performance.getEntriesByType('resource').some(({ name }) => name.includes('/earnings-bars-')),
    )
  await page.goto('/dashboard', { waitUntil: 'networkidle' })
  const chart = page.getByRole('region', { name: 'Earnings by type' })
  await page.getByRole('button', { name: 'More', exact: true }).click()
  await expect(chart).toBeAttached()
  expect(await fetched()).toBe(false)
  await chart.scrollIntoViewIfNeeded()
  await expect(chart.locator('svg.recharts-surface').first()).toBeVisible()
  expect(await fetched()).toBe(true)
  await page.context().close()
})
