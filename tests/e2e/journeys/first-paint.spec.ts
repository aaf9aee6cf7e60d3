import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test, type Page } from '@playwright/test'
import { untilAlive } from '../alive'
import { createMember, memberBrowser } from '../people'
import { memberKey } from '../stack'

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
      await untilAlive(page)
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

  test('what is ticked stays, before a form is sent too', async ({ page }) => {
    for (const address of ['/sign-up', '/sign-up?redirect=%2Fdeposit']) {
      const release = await holdCode(page)
      await page.goto(address, { waitUntil: 'commit' })
      const read = page.getByRole('checkbox', { name: 'I have read the Terms' })
      // Nothing shows that the first press was heard.
      await read.click()
      await read.click()
      await page.getByRole('button', { name: 'Create account' }).click()
      release()
      await expect(page.getByText('Enter your email address').first()).toBeVisible()
      await expect(read).toBeChecked()
    }
  })

  test('the settings’ names stand there at once, and stay', async ({ page }) => {
    await page.route('**/config.js', async (route) => {
      const script = await (await route.fetch()).text()
      const changed = script
        .replace(/"product_name":"[^"]*"/, '"product_name":"Quayside"')
        .replace(/"operator":\{[^}]*\}/, '"operator":{"name":"Quay Ltd","address":"1 Pier"}')
      await route.fulfill({ contentType: 'text/javascript', body: changed })
    })
    const release = await holdCode(page)
    await page.goto('/', { waitUntil: 'commit' })
    const seen = async () => {
      await expect(page.getByText('Quayside').first()).toBeVisible()
      await expect(page.getByText('Operator: Quay Ltd, 1 Pier', { exact: true })).toBeVisible()
      await expect(page.getByText('Harborline')).toHaveCount(0)
    }
    await seen()
    release()
    await untilAlive(page)
    await seen()
  })

  test('a name stands there once, wherever the network cuts the page', async ({ page, request, baseURL }) => {
    const html = await (await request.get('/terms')).text()
    const place = '<span data-setting="product">'
    const cut = html.indexOf(place) + place.length
    const name = page.locator('[data-setting="product"]').first()
    const site = createServer((asked, response) => {
      void (async () => {
        if (asked.url !== '/terms') {
          const reply = await fetch(`${baseURL ?? ''}${asked.url ?? ''}`)
          response.setHeader('content-type', reply.headers.get('content-type') ?? '')
          response.end(Buffer.from(await reply.arrayBuffer()))
          return
        }
        response.setHeader('content-type', 'text/html; charset=utf-8')
        response.write(html.slice(0, cut))
        await expect(name).toHaveText('Harborline')
        response.end(html.slice(cut))
      })()
    }).listen(0, '127.0.0.1')
    await once(site, 'listening')
    await page.goto(`http://127.0.0.1:${(site.address() as AddressInfo).port}/terms`)
    await untilAlive(page)
    await expect(name).toHaveText('Harborline')
    site.closeAllConnections()
    site.close()
  })
})

test.describe('when something is missing', () => {
  const failed = (page: Page) => page.getByRole('alert').filter({ hasText: 'did not load completely' })

  /** Presses the way to try again; what was missing is there by now. */
  async function loadAgain(page: Page) {
    await page.getByRole('link', { name: 'Load it again' }).click()
    await untilAlive(page)
    await expect(page.getByText('did not load completely')).toBeHidden()
  }

  test('code that does not arrive is said, with a way to try again', async ({ page }) => {
    await page.route('**/assets/index-*.js', (route) => route.abort())
    await page.goto('/sign-in')
    await expect(page.getByRole('heading', { name: 'Sign in' })).toBeVisible()
    await expect(failed(page)).toBeVisible()
    await page.unroute('**/assets/index-*.js')
    await loadAgain(page)
  })

  test('so is code of before a deployment', async ({ page }) => {
    await page.route('**/sign-in', async (route) => {
      const html = await (await route.fetch()).text()
      const before = html.replaceAll(/\/assets\/index-[\w-]+\.js/g, '/assets/index-of-before.js')
      await route.fulfill({ contentType: 'text/html', body: before })
    })
    await page.goto('/sign-in')
    await expect(page.getByRole('heading', { name: 'Sign in' })).toBeVisible()
    await expect(failed(page)).toBeVisible()
    await page.unroute('**/sign-in')
    await loadAgain(page)
  })

  test('so is a connection that is lost on the way', async ({ browser }) => {
    const context = await memberBrowser(browser, await createMember('paint'))
    const page = await context.newPage()
    const release = await holdCode(page)
    await page.goto('/dashboard', { waitUntil: 'commit' })
    await expect(page.getByText('Loading')).toBeAttached()
    await context.setOffline(true)
    release()
    await expect(failed(page)).toBeVisible()
    await context.setOffline(false)
    await loadAgain(page)
    await expect(page.getByText('$0.00').first()).toBeVisible()
    await context.close()
  })

  test('code that takes longer than ten seconds is said too', async ({ page }) => {
    const release = await holdCode(page)
    await page.goto('/sign-in', { waitUntil: 'commit' })
    await expect(page.getByRole('heading', { name: 'Sign in' })).toBeVisible()
    await expect(failed(page)).toBeVisible({ timeout: 20_000 })
    release()
    await expect(failed(page)).toBeHidden()
  })

  test('an API that is away leaves the page, and can be asked again', async ({ browser }) => {
    const context = await memberBrowser(browser, await createMember('paint'))
    const page = await context.newPage()
    await page.route('**/rest/v1/**', (route) => route.abort())
    await page.goto('/dashboard')
    await expect(page.getByRole('heading', { name: 'Your Command Center' })).toBeVisible()
    const main = page.getByRole('main')
    await expect(main.getByRole('alert')).toContainText('Failed to load dashboard data')
    await page.unroute('**/rest/v1/**')
    await main.getByRole('button', { name: 'Retry' }).click()
    await expect(page.getByText('$0.00').first()).toBeVisible()
    await context.close()
  })

  test('a stored session that has ended leads to the sign-in', async ({ browser }) => {
    const context = await memberBrowser(browser, await createMember('paint'))
    const page = await context.newPage()
    await page.addInitScript((key) => {
      const stored = JSON.parse(localStorage.getItem(key) ?? 'null')
      if (stored)
        localStorage.setItem(key, JSON.stringify({ ...stored, expires_at: 1, refresh_token: 'ended' }))
    }, memberKey)
    const release = await holdCode(page)
    await page.goto('/dashboard', { waitUntil: 'commit' })
    await expect(page.getByText('Loading')).toBeAttached()
    release()
    await expect(page.getByRole('heading', { name: 'Sign in' })).toBeVisible()
    expect(new URL(page.url()).searchParams.get('redirect')).toBe('/dashboard')
    await context.close()
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
