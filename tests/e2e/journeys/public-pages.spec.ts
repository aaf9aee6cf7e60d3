import { expect, test } from '@playwright/test'

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
  await expect(page.locator('html[data-ready]')).toBeAttached()
  await page.route('**/assets/theme-menu-list-*.js', (route) => route.abort())
  await page.getByRole('button', { name: 'Theme' }).click()
  await expect(page.getByRole('alert')).toContainText('This page could not be shown')
  await page.unroute('**/assets/theme-menu-list-*.js')
  await page.getByRole('button', { name: 'Reload' }).click()
  await page.getByRole('button', { name: 'Theme' }).click()
  await expect(page.getByRole('menuitemradio', { name: 'Light' })).toBeVisible()
})
