import { expect, test } from '@playwright/test'
import { overflow, violations } from '../accessibility'
import { administratorKey, administratorSession, need, origin } from '../stack'

const pages = [
  '/admin/dashboard',
  '/admin/dashboard?tab=financial',
  '/admin/users',
  '/admin/bots',
  '/admin/transactions',
  '/admin/deposits',
  '/admin/deposits?status=all',
  '/admin/withdrawals',
  '/admin/coverage',
  '/admin/audit',
  '/admin/settings',
  '/admin/administrators',
  '/admin/readiness',
]

for (const colorScheme of ['light', 'dark'] as const) {
  test(`every administrators' page is accessible in ${colorScheme}, fits 320 px and logs no error`, async ({
    browser,
  }) => {
    test.setTimeout(300_000)
    const session = await administratorSession(need('DEMO_ADMIN_EMAIL'), need('DEMO_ADMIN_PASSWORD'))
    const context = await browser.newContext({ baseURL: origin, colorScheme, reducedMotion: 'reduce' })
    await context.addInitScript(([key, value]) => localStorage.setItem(key, value), [
      administratorKey,
      JSON.stringify(session),
    ] as const)
    const page = await context.newPage()
    const errors: string[] = []
    page.on('pageerror', (error) => errors.push(error.message))
    page.on('console', (message) => {
      if (message.type() === 'error') errors.push(message.text())
    })
    for (const path of pages) {
      await page.setViewportSize({ width: 1440, height: 900 })
      await page.goto(path)
      await expect(page.getByRole('heading', { level: 1 })).toBeVisible()
      await page.waitForLoadState('networkidle')
      await page.waitForTimeout(300)
      expect.soft(await violations(page), path).toEqual([])
      await page.setViewportSize({ width: 320, height: 640 })
      await page.waitForTimeout(200)
      expect.soft(await overflow(page), path).toBe(0)
    }
    expect(errors).toEqual([])
    await context.close()
  })
}
