import { expect, type Page } from '@playwright/test'

/**
 * Waits until the page's code is here: before it the browser itself follows links, no referral code is looked up, and
 * of several presses only ticks and the last one are kept.
 */
export async function untilAlive(page: Page): Promise<void> {
  await expect(page.locator('html[data-ready]')).toBeAttached()
}
