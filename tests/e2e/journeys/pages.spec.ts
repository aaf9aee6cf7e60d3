import { expect, test, type Browser, type BrowserContext, type Page } from '@playwright/test'
import { overflow, tableOverflow, violations } from '../accessibility'
import { administratorPages, memberPages, visitorPages } from '../pages'
import { administratorBrowser, memberBrowser } from '../people'
import { need, origin } from '../stack'

// Every page is opened once in each width, looked at in both themes, and its picture is taken, to be looked at.
const themes = ['light', 'dark'] as const
const widths = { 1440: 900, 390: 844 }
const options = { reducedMotion: 'reduce', timezoneId: 'Europe/Berlin' } as const

const people: Record<string, { paths: string[]; open: (browser: Browser) => Promise<BrowserContext> }> = {
  visitor: {
    paths: visitorPages,
    open: (browser) => browser.newContext({ baseURL: origin, ...options }),
  },
  member: {
    paths: memberPages,
    open: (browser) =>
      memberBrowser(
        browser,
        { email: need('DEMO_MEMBER_EMAIL'), password: need('DEMO_MEMBER_PASSWORD') },
        options,
      ),
  },
  administrator: {
    paths: administratorPages,
    open: (browser) => administratorBrowser(browser, options),
  },
}

/** Changes the system's theme under an open page, which must follow. */
async function switchTo(page: Page, theme: (typeof themes)[number]): Promise<void> {
  await page.emulateMedia({ colorScheme: theme })
  await expect(page.locator('html')).toHaveClass(theme === 'dark' ? /\bdark\b/ : /^(?!.*\bdark\b)/)
}

async function takePicture(page: Page, path: string, width: string, theme: string): Promise<void> {
  const name = path.replaceAll(/\W+/g, '-').replace(/^-/, '') || 'landing'
  await page.screenshot({ path: `.output/screens/${name}-${width}-${theme}.png`, fullPage: true })
}

for (const [who, { paths, open }] of Object.entries(people)) {
  for (const [width, height] of Object.entries(widths)) {
    const wide = width === '1440'
    const promise = wide ? 'is accessible' : 'fits 320 px'
    test(`every page of a ${who} ${promise} in both themes and logs no error, ${width} px`, async ({
      browser,
    }) => {
      test.setTimeout(300_000)
      const context = await open(browser)
      const page = await context.newPage()
      const errors: string[] = []
      page.on('pageerror', (error) => errors.push(error.message))
      page.on('console', (message) => message.type() === 'error' && errors.push(message.text()))
      for (const path of paths) {
        await page.setViewportSize({ width: Number(width), height })
        await page.goto(path, { waitUntil: 'networkidle' })
        await expect(page.getByRole('heading', { level: 1 })).toBeVisible()
        for (const theme of themes) {
          await switchTo(page, theme)
          expect.soft(await overflow(page), `${path} in ${theme} is wider than the window`).toBe(0)
          if (wide) {
            expect.soft(await tableOverflow(page), `${path}: a column is out of sight`).toBe(0)
            expect.soft(await violations(page), `${path} in ${theme}`).toEqual([])
          }
          await takePicture(page, path, width, theme)
        }
        if (!wide) {
          await page.setViewportSize({ width: 320, height: 640 })
          expect.soft(await overflow(page), `${path} is wider than 320 px`).toBe(0)
        }
      }
      expect(errors).toEqual([])
      await context.close()
    })
  }
}
