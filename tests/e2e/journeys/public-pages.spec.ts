import { expect, test } from '@playwright/test'
import { overflow, violations } from '../accessibility'

const pages = [
  '/',
  '/sign-in',
  '/sign-up',
  '/forgot-password',
  '/link-expired',
  '/payouts',
  '/income-disclosure',
  '/terms',
  '/risk',
  '/no-such-page',
  '/admin/login',
]

for (const path of pages) {
  for (const colorScheme of ['light', 'dark'] as const) {
    test(`${path} is accessible in ${colorScheme} and fits 320 px`, async ({ page }) => {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      await page.goto(path)
      await expect(page.getByRole('heading', { level: 1 })).toBeVisible()
      await page.waitForLoadState('networkidle')
      expect(await violations(page)).toEqual([])
      await page.setViewportSize({ width: 320, height: 640 })
      expect(await overflow(page)).toBe(0)
    })
  }
}

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

test('no page logs an error of its own', async ({ page }) => {
  const errors: string[] = []
  page.on('pageerror', (error) => errors.push(error.message))
  page.on('console', (message) => {
    if (message.type() === 'error') errors.push(message.text())
  })
  for (const path of pages) {
    await page.goto(path)
    await page.waitForLoadState('networkidle')
  }
  expect(errors).toEqual([])
})
