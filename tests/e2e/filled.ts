import type { Page } from '@playwright/test'

/** The filled buttons and links of a page: what it asks for. */
export function filled(page: Page): Promise<string[]> {
  return page
    .locator('main')
    .locator('button, a')
    .evaluateAll((all) => {
      const probe = document.createElement('i')
      probe.style.color = 'var(--primary)'
      document.body.append(probe)
      const brand = getComputedStyle(probe).color
      probe.remove()
      return all
        .filter((one) => one.checkVisibility() && getComputedStyle(one).backgroundColor === brand)
        .filter((one) => one.getAttribute('role') !== 'checkbox')
        .map((one) => one.textContent ?? '')
    })
}
