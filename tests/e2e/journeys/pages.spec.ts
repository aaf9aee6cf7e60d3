import { expect, test, type Browser, type BrowserContext, type Page } from '@playwright/test'
import { overflow, tableOverflow, violations } from '../accessibility'
import { desk, phone, switchTo, themes, type Size } from '../looks'
import { administratorPages, memberPages, publicPages } from '../pages'
import { administratorBrowser, createFunded, memberBrowser, requestDeposit, send } from '../people'
import { need } from '../stack'

// Every page is opened and looked at in one theme and at every width, by turns, and in the long run in the other one
// and on a phone; the pictures are taken to be looked at.
const smallest = { width: 320, height: 640 }

// A walk through all pages takes more than a minute where other journeys run beside it.
test.describe.configure({ timeout: 540_000 })

const people: Record<string, { paths: string[]; open: (browser: Browser) => Promise<BrowserContext> }> = {
  anonymous: { paths: publicPages, open: (browser) => browser.newContext() },
  member: {
    paths: memberPages,
    open: (browser) =>
      memberBrowser(browser, {
        email: need('DEMO_MEMBER_EMAIL'),
        password: need('DEMO_MEMBER_PASSWORD'),
      }),
  },
  administrator: { paths: administratorPages, open: administratorBrowser },
}

// As long texts as there may be, in the member's team and in the administrators' lists.
test.beforeAll(async () => {
  const [, account] = await createFunded('ilse', 500, { length: 30, referrer: need('DEMO_REFERRAL_CODE') })
  await requestDeposit(account, 1000)
  await send(account.token, 'POST', '/functions/v1/bot-subscription', {
    bot_name: 'Scout',
    action: 'subscribe',
    mt5_server: 'S'.repeat(128),
    mt5_login: '5'.repeat(64),
    mt5_password: 'p'.repeat(256),
  })
})

/** Only when asked: `npm run screens`. */
async function takePicture(page: Page, path: string, theme: string): Promise<void> {
  if (!process.env.SCREENS) return
  const name = path.replaceAll(/\W+/g, '-').replace(/^-/, '') || 'landing'
  const width = page.viewportSize()?.width
  await page.screenshot({ path: `.output/screens/${name}-${width}-${theme}.png`, fullPage: true })
}

async function open(page: Page, path: string, size: Size): Promise<void> {
  await page.setViewportSize(size)
  await page.goto(path, { waitUntil: 'networkidle' })
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible()
}

async function fits(page: Page, path: string): Promise<void> {
  const width = page.viewportSize()?.width
  await expect.soft.poll(() => overflow(page), `${path} is wider than ${width} px`).toBe(0)
}

/** What is wrong as soon as it is said; nothing may be. */
function errorsOf(page: Page): string[] {
  const errors: string[] = []
  page.on('pageerror', (error) => errors.push(error.message))
  page.on('console', (message) => {
    // An address that is no page is answered with 404, which the browser reports.
    const none = message.location().url.endsWith('/no-such-page')
    if (message.type() === 'error' && !none) errors.push(message.text())
  })
  return errors
}

/** The theme of a page in the usual run; the long run looks at it in the other one. */
const themeOf = (index: number) => (index % 2 ? 'dark' : 'light')
const otherThemeOf = (index: number) => themeOf(index + 1)

for (const [who, person] of Object.entries(people)) {
  test(`every page of a ${who} is accessible, fits every width and logs no error`, async ({ browser }) => {
    const context = await person.open(browser)
    const page = await context.newPage()
    const errors = errorsOf(page)
    for (const [index, path] of person.paths.entries()) {
      const theme = themeOf(index)
      await open(page, path, desk)
      await switchTo(page, theme)
      await fits(page, path)
      await expect.soft.poll(() => tableOverflow(page), `${path}: a column is out of sight`).toBe(0)
      expect.soft(await violations(page), `${path} in ${theme}`).toEqual([])
      await takePicture(page, path, theme)
      for (const size of [phone, smallest]) {
        await page.setViewportSize(size)
        await fits(page, path)
      }
    }
    expect(errors).toEqual([])
    await context.close()
  })

  // A page that becomes narrow is the same as one that was opened so, but for what it loads first.
  test(
    `every page of a ${who} has the other theme's colours, opens on a phone, fits it and logs no error`,
    { tag: '@long' },
    async ({ browser }) => {
      const context = await person.open(browser)
      const page = await context.newPage()
      const errors = errorsOf(page)
      for (const [index, path] of person.paths.entries()) {
        await open(page, path, desk)
        await switchTo(page, otherThemeOf(index))
        expect.soft(await violations(page, 'colours'), `${path} in ${otherThemeOf(index)}`).toEqual([])
        await takePicture(page, path, otherThemeOf(index))
        await open(page, path, phone)
        for (const theme of themes) {
          await switchTo(page, theme)
          await fits(page, path)
          await takePicture(page, path, theme)
        }
        await page.setViewportSize(smallest)
        await fits(page, path)
      }
      expect(errors).toEqual([])
      await context.close()
    },
  )

  test(`every page of a ${who} fits when the browser's text is twice as large @long`, async ({ browser }) => {
    const context = await person.open(browser)
    const page = await context.newPage()
    const devtools = await context.newCDPSession(page)
    await devtools.send('Page.setFontSizes', { fontSizes: { standard: 32, fixed: 26 } })
    for (const path of person.paths) {
      await open(page, path, desk)
      await expect.soft(page.locator('body')).toHaveCSS('font-size', '30px')
      await fits(page, path)
      await page.setViewportSize({ width: 2 * phone.width, height: 2 * phone.height })
      await fits(page, path)
    }
    await context.close()
  })
}
