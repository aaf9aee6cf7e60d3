import { expect, test } from '@playwright/test'
import { overflow, violations } from '../accessibility'
import { administratorPages } from '../pages'
import { administratorBrowser } from '../people'

for (const colorScheme of ['light', 'dark'] as const) {
  test(`every administrators' page is accessible in ${colorScheme}, fits 320 px and logs no error`, async ({
    browser,
  }) => {
    test.setTimeout(300_000)
    const context = await administratorBrowser(browser, { colorScheme, reducedMotion: 'reduce' })
    const page = await context.newPage()
    const errors: string[] = []
    page.on('pageerror', (error) => errors.push(error.message))
    page.on('console', (message) => {
      if (message.type() === 'error') errors.push(message.text())
    })
    for (const path of administratorPages) {
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
