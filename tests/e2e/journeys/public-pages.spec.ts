import { expect, test } from '@playwright/test'

test('the landing page carries at most 150 kB of script', async ({ page }) => {
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
  expect(bytes).toBeLessThan(150_000)
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
