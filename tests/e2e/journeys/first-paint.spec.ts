import { expect, test, type Page } from '@playwright/test'
import { createMember, memberBrowser } from '../people'

/** Holds the app's code back; returns what lets it come. */
async function holdCode(page: Page): Promise<() => void> {
  let release: () => void = () => undefined
  const held = new Promise<void>((resolve) => (release = resolve))
  await page.route('**/assets/*.js', async (route) => {
    await held
    await route.continue()
  })
  return release
}

test.describe('before its code is here', () => {
  test('a public page can be read, also without JavaScript', async ({ browser }) => {
    const context = await browser.newContext({ javaScriptEnabled: false })
    const page = await context.newPage()
    await page.goto('/')
    await expect(page.getByRole('heading', { level: 1 })).toHaveText(
      'Trading tools, automation and a referral plan you can check.',
    )
    await expect(page.getByRole('heading', { name: 'Where a $1,000.00 package goes' })).toBeVisible()
    await context.close()
  })

  test('a page has its own title and preview', async ({ request }) => {
    const html = await (await request.get('/payouts')).text()
    expect(html).toContain('<title>Where payouts come from - Harborline</title>')
    expect(html).toContain('<meta property="og:title" content="Where payouts come from - Harborline" />')
  })

  test('an address that is no page is answered so', async ({ request, page }) => {
    expect((await request.get('/no-such-page')).status()).toBe(404)
    await page.goto('/no-such-page')
    await expect(page.getByRole('heading', { name: 'Oops! Page not found' })).toBeVisible()
  })

  test('a member sees the frame and that it is a demo', async ({ browser }) => {
    const context = await memberBrowser(browser, await createMember('paint'))
    const page = await context.newPage()
    const release = await holdCode(page)
    await page.goto('/dashboard', { waitUntil: 'commit' })
    await expect(page.getByText('Demo. No real money is accepted here.')).toBeVisible()
    await expect(page.getByText('Loading')).toBeAttached()
    release()
    await expect(page.getByRole('heading', { level: 1 })).toBeVisible()
    await context.close()
  })

  test('a member’s first question is asked at once, and only once', async ({ browser }) => {
    const context = await memberBrowser(browser, await createMember('paint'))
    const page = await context.newPage()
    const release = await holdCode(page)
    let asked = 0
    await page.route('**/rpc/get_member_dashboard', async (route) => {
      asked += 1
      // Only the first is answered: figures that appear are that answer, however often the page reads them again.
      if (asked === 1) await route.continue()
    })
    await page.goto('/dashboard', { waitUntil: 'commit' })
    await expect.poll(() => asked).toBe(1)
    release()
    await expect(page.getByText('$0.00').first()).toBeVisible()
    await context.close()
  })

  test('what is typed stays', async ({ page }) => {
    for (const address of ['/sign-in', '/sign-in?redirect=%2Fdeposit']) {
      const release = await holdCode(page)
      await page.goto(address, { waitUntil: 'commit' })
      await page.getByLabel('Email').fill('somebody@example.com')
      release()
      await expect(page.locator('html[data-ready]')).toBeAttached()
      await expect(page.getByLabel('Email')).toHaveValue('somebody@example.com')
      await page.getByRole('button', { name: 'Sign in' }).click()
      await expect(page.getByText('Enter your password')).toBeVisible()
      await expect(page.getByText('Enter your email address')).toBeHidden()
    }
  })

  test('a form is not sent by the browser, and a press is kept', async ({ page }) => {
    const release = await holdCode(page)
    await page.goto('/sign-in', { waitUntil: 'commit' })
    await page.getByRole('button', { name: 'Sign in' }).click()
    expect(new URL(page.url()).search).toBe('')
    release()
    await expect(page.getByText('Enter your password').first()).toBeVisible()
  })

  test('code that does not arrive is said, with a way to try again', async ({ page }) => {
    await page.route('**/assets/index-*.js', (route) => route.abort())
    await page.goto('/sign-in')
    await expect(page.getByRole('heading', { name: 'Sign in' })).toBeVisible()
    await expect(page.getByRole('alert').filter({ hasText: 'did not load completely' })).toBeVisible()
    await page.unroute('**/assets/index-*.js')
    await page.getByRole('link', { name: 'Load it again' }).click()
    await expect(page.locator('html[data-ready]')).toBeAttached()
    await expect(page.getByText('did not load completely')).toBeHidden()
  })

  test('without the settings a page starts too', async ({ page }) => {
    await page.route('**/config.js', async (route) => {
      const script = await (await route.fetch()).text()
      const key = /"supabaseKey":"([^"]+)"/.exec(script)?.[1] ?? ''
      await route.fulfill({
        contentType: 'text/javascript',
        body: `globalThis.HARBORLINE_CONFIG = { supabaseUrl: "", supabaseKey: "${key}" };`,
      })
    })
    await page.goto('/')
    await expect(page.getByText('Demo. No real money is accepted here.')).toBeVisible()
  })
})
