import { expect, test, type Page } from '@playwright/test'
import { overflow } from '../accessibility'
import { createEarner, createFunded, createMember, openAs } from '../people'

// From every page of a member to every other, at each width, by mouse and keyboard.
const pages = {
  '/dashboard': 'Dashboard',
  '/packages': 'Packages',
  '/bots': 'Bots & Tools',
  '/education': 'Trading School',
  '/transactions': 'Transactions',
  '/profile': 'Profile',
  '/settings': 'Settings',
  '/deposit': 'Deposit',
  '/withdraw': 'Withdraw',
  '/notifications': 'Notifications',
}
const alwaysInHeader = ['Dashboard', 'Bots & Tools', 'Profile', 'Settings']

async function follow(page: Page, label: string): Promise<void> {
  const link = page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: label, exact: true })
  if (await link.isVisible()) await link.click()
  else {
    await page.getByRole('button', { name: 'More', exact: true }).click()
    await page.getByRole('menuitem', { name: label, exact: true }).click()
  }
}

for (const width of [768, 1024, 1440]) {
  test(`at ${width} px the header leads to every page, and marks the one that is open`, async ({
    browser,
  }) => {
    const page = await openAs(browser, await createMember('nav', { length: 30 }))
    await page.setViewportSize({ width, height: 900 })
    await page.goto('/dashboard')
    const header = page.getByRole('banner')
    for (const label of alwaysInHeader)
      await expect(header.getByRole('link', { name: label, exact: true })).toBeVisible()
    await expect(header.getByRole('button', { name: 'Sign Out' })).toBeInViewport({ ratio: 1 })
    for (const [path, label] of Object.entries(pages)) {
      await follow(page, label)
      await expect(page).toHaveURL(path)
      const link = header.getByRole('link', { name: label, exact: true })
      if (await link.isVisible()) await expect(link).toHaveAttribute('aria-current', 'page')
      expect(await overflow(page)).toBe(0)
    }
    await page.context().close()
  })
}

test('the account menu says whose account it is, and works by keyboard', async ({ browser }) => {
  const person = await createMember('menu', { displayName: 'Marit Sol' })
  const page = await openAs(browser, person)
  await page.goto('/bots')
  const account = page.getByRole('button', { name: `Account: ${person.username}` })
  await account.focus()
  await page.keyboard.press('Enter')
  const menu = page.getByRole('menu')
  await expect(menu.getByText('Marit Sol')).toBeVisible()
  await expect(menu.getByText(person.email)).toBeVisible()
  await expect(menu.getByRole('menuitem', { name: 'Contact support' })).toHaveAttribute('href', /^mailto:/)
  await menu.getByRole('menuitemradio', { name: 'Dark' }).click()
  await expect(page.locator('html')).toHaveClass(/\bdark\b/)
  await page.keyboard.press('Escape')
  await expect(menu).toBeHidden()
  await expect(account).toBeFocused()
  await page.keyboard.press('Enter')
  await expect(menu).toBeVisible()
  await page.keyboard.press('ArrowDown')
  await expect(menu.getByRole('menuitem', { name: 'Settings' })).toBeFocused()
  await page.keyboard.press('Enter')
  await expect(page).toHaveURL('/settings')
  await page.getByRole('button', { name: `Account: ${person.username}` }).click()
  await menu.getByRole('menuitem', { name: 'Sign Out' }).click()
  await expect(page).toHaveURL('/')
  await page.context().close()
})

test('on a phone the sheet has every page and the account, and the open tab is in sight', async ({
  browser,
}) => {
  const [person] = await createFunded('phone', 50)
  const page = await openAs(browser, person)
  await page.setViewportSize({ width: 390, height: 844 })
  await page.goto('/dashboard')
  await page.getByRole('button', { name: 'Menu' }).click()
  const sheet = page.getByRole('dialog', { name: 'Navigation' })
  for (const label of Object.values(pages))
    await expect(sheet.getByRole('link', { name: label, exact: true })).toBeVisible()
  await expect(sheet.getByText(person.email)).toBeVisible()
  await expect(sheet.getByRole('button', { name: 'Sign Out' })).toBeVisible()
  await page.goto('/dashboard?view=advanced&tab=tree')
  const tab = page.getByRole('tab', { name: 'Team Tree' })
  await tab.scrollIntoViewIfNeeded()
  await page.goto('/dashboard?view=advanced&tab=tree')
  await expect(tab).toBeVisible()
  const box = await tab.boundingBox()
  expect(box?.x).toBeGreaterThan(0)
  expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual(390)
  await page.context().close()
})

test('arrow keys walk through the tabs of the dashboard, and the focus stays on them', async ({
  browser,
}) => {
  const [person] = await createEarner('tabs')
  const page = await openAs(browser, person)
  await page.goto('/dashboard')
  const tab = (name: string) => page.getByRole('tab', { name })
  await tab('Classic View').focus()
  await page.keyboard.press('ArrowRight')
  await expect(tab('Advanced Analytics')).toBeFocused()
  await expect(page.getByRole('region', { name: 'Earnings by type' })).toBeVisible()
  await tab('Bonus Breakdown').focus()
  for (const [name, shown] of [
    ['Pairing Details', page.getByRole('table')],
    ['Network Summary', page.getByRole('region', { name: 'Team growth' })],
    ['Team Tree', page.getByRole('treegrid')],
  ] as const) {
    await page.keyboard.press('ArrowRight')
    await expect(shown).toBeVisible()
    await expect(tab(name)).toBeFocused()
  }
  await page.context().close()
})
