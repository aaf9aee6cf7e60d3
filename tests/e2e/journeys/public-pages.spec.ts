import { expect, test } from '@playwright/test'
import { violations } from '../accessibility'
import { untilAlive } from '../alive'
import { origin } from '../stack'

test('the landing page carries at most 100 kB of script', async ({ page }) => {
  let bytes = 0
  page.on('response', async (response) => {
    if (!response.url().endsWith('.js')) return
    const sizes = await response
      .request()
      .sizes()
      .catch(() => null)
    bytes += sizes?.responseBodySize ?? 0
  })
  await page.goto('/')
  await page.waitForLoadState('networkidle')
  expect(bytes).toBeGreaterThan(50_000)
  expect(bytes).toBeLessThan(100_000)
})

test('no page of a visitor tries what its policy forbids', async ({ page }) => {
  const tried: string[] = []
  await page.exposeFunction('report', (what: string) => tried.push(what))
  await page.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', (event) => {
      const { report } = globalThis as unknown as { report: (what: string) => void }
      report(`${location.pathname} ${event.violatedDirective} ${event.blockedURI}`)
    })
  })
  for (const path of [
    '/',
    '/sign-in',
    '/sign-up',
    '/forgot-password',
    '/payouts',
    '/terms',
    '/admin/login',
  ]) {
    await page.goto(path)
    await expect(page.getByRole('heading', { level: 1 })).toBeVisible()
    await page.waitForLoadState('networkidle')
  }
  expect(tried).toEqual([])
})

test('an open page follows the theme of the system until the visitor chooses one', async ({ page }) => {
  const dark = /\bdark\b/
  await page.emulateMedia({ colorScheme: 'light' })
  await page.goto('/')
  await page.waitForLoadState('networkidle')
  await page.emulateMedia({ colorScheme: 'dark' })
  await expect(page.locator('html')).toHaveClass(dark)
  await page.getByRole('button', { name: 'Theme' }).click()
  await page.getByRole('menuitemradio', { name: 'Light' }).click()
  await expect(page.locator('html')).not.toHaveClass(dark)
  await page.emulateMedia({ colorScheme: 'light' })
  await page.emulateMedia({ colorScheme: 'dark' })
  await expect(page.locator('html')).not.toHaveClass(dark)
})

test('the browser leads from the landing page into the app and back', async ({ page }) => {
  await page.goto('/')
  const end = page.getByRole('link', { name: 'Start Your Journey by signing up' })
  await end.scrollIntoViewIfNeeded()
  const before = await page.evaluate(() => scrollY)
  await end.click()
  await expect(page.getByRole('heading', { name: 'Create your account' })).toBeVisible()
  await untilAlive(page)
  await page.getByRole('contentinfo').getByRole('link', { name: 'Risk' }).click()
  await expect(page.getByRole('heading', { level: 1, name: 'Risk' })).toBeFocused()
  await page.goBack()
  await page.goBack()
  await expect(page).toHaveURL('/')
  await expect(end).toBeInViewport()
  expect(await page.evaluate(() => scrollY)).toBeCloseTo(before, -2)
  await page.goForward()
  await page.getByRole('link', { name: 'Harborline' }).click()
  await expect(page).toHaveURL('/')
})

test('on the landing page too, code that does not arrive is said', async ({ page }) => {
  await page.route('**/assets/landing-*.js', (route) => route.abort())
  await page.goto('/')
  await expect(page.getByRole('alert').filter({ hasText: 'did not load completely' })).toBeVisible()
  await page.unroute('**/assets/landing-*.js')
  await page.getByRole('link', { name: 'Load it again' }).click()
  await untilAlive(page)
  await page.route('**/assets/theme-menu-list-*.js', (route) => route.abort())
  await page.getByRole('button', { name: 'Theme' }).click()
  await expect(page.getByRole('alert')).toContainText('This page could not be shown')
  await page.unroute('**/assets/theme-menu-list-*.js')
  await page.getByRole('button', { name: 'Reload' }).click()
  await page.getByRole('button', { name: 'Theme' }).click()
  await expect(page.getByRole('menuitemradio', { name: 'Light' })).toBeVisible()
})

test('a page that was not opened yet says that it is the network, and comes back with it', async ({
  page,
}) => {
  await page.goto('/terms')
  const link = page.getByRole('link', { name: 'Income disclosure' })
  await expect(link).toBeVisible()
  await untilAlive(page)
  await page.waitForLoadState('networkidle')
  await page.context().setOffline(true)
  await link.click()
  await expect(page.getByRole('alert').getByText('No connection')).toBeVisible()
  await expect(page.getByText('contact support')).toHaveCount(0)
  await page.context().setOffline(false)
  await expect(page.getByRole('heading', { name: 'Income disclosure', level: 1 })).toBeVisible()

  // A server that does not respond is no offline browser, and no fault of the page.
  await page.goto('/terms')
  await untilAlive(page)
  await page.waitForLoadState('networkidle')
  await page.route(/\/assets\/|config\.js/, (route) => route.abort())
  await page.getByRole('link', { name: 'Where payouts come from' }).last().click()
  await expect(page.getByRole('alert').getByText('No connection')).toBeVisible()
  await page.unroute(/\/assets\/|config\.js/)
  await expect(page.getByRole('heading', { name: 'Where payouts come from', level: 1 })).toBeVisible()
})

test('wide tables are reached and scrolled by keyboard on a phone', async ({ page }) => {
  await page.setViewportSize({ width: 390, height: 844 })
  for (const [path, name] of [
    ['/payouts', 'The five packages'],
    ['/income-disclosure', 'By package'],
  ] as const) {
    await page.goto(path)
    const table = page.getByRole('region', { name, exact: true })
    await expect(table).toHaveAttribute('tabindex', '0')
    await table.focus()
    await page.keyboard.press('ArrowRight')
    await expect.poll(() => table.evaluate((box) => box.scrollLeft)).toBeGreaterThan(0)
    expect(await violations(page)).toEqual([])
  }
})

test('the period of the income disclosure is the same in every zone, and says which days it means', async ({
  browser,
}) => {
  const read = async (timezoneId: string) => {
    const page = await (await browser.newContext({ baseURL: origin, timezoneId })).newPage()
    await page.goto('/income-disclosure')
    const text = await page.getByText(/of all members received nothing/).textContent()
    await page.context().close()
    return text
  }
  const [here, there] = [await read('Asia/Kolkata'), await read('America/Los_Angeles')]
  expect(here).toMatch(/^In the period from \d+ \w+ \d{4} to \d+ \w+ \d{4} \(UTC\), [\d.]+% of all members/)
  expect(there).toBe(here)
})
