import { expect, test, type Page } from '@playwright/test'
import { violations } from '../accessibility'
import { administratorBrowser, send } from '../people'
import { administratorKey, administratorSession, need, origin } from '../stack'

// Sessions of administrators in one browser: several tabs of one person, and one person after another.

const warning = (page: Page) => page.getByRole('dialog', { name: 'Are you still there?' })

test('a tab that lies idle does not sign out the tab that is used, and both end when both are idle', async ({
  browser,
}) => {
  const context = await administratorBrowser(browser)
  await context.clock.install()
  const [idle, used] = [await context.newPage(), await context.newPage()]
  for (const tab of [idle, used]) {
    await tab.goto('/admin/audit')
    await expect(tab.getByRole('heading', { level: 1, name: 'Audit' })).toBeVisible()
  }
  for (let minutes = 0; minutes < 40; minutes += 10) {
    await context.clock.fastForward('10:00')
    await used.keyboard.press('Shift')
  }
  await context.clock.fastForward('00:10')
  for (const tab of [idle, used]) {
    await expect(tab.getByRole('heading', { level: 1, name: 'Audit' })).toBeVisible()
    await expect(warning(tab)).toBeHidden()
  }

  await context.clock.fastForward('28:30')
  await expect(warning(used)).toBeVisible()
  await expect(warning(idle)).toBeVisible()
  await context.clock.fastForward('02:00')
  await expect(used).toHaveURL(/\/admin\/login$/)
  await expect(idle).toHaveURL(/\/admin\/login$/)
  await context.close()
})

async function signIn(page: Page, who: 'ADMIN' | 'SUPPORT'): Promise<void> {
  await page.getByLabel('Email').fill(need(`DEMO_${who}_EMAIL`))
  await page.getByLabel('Password', { exact: true }).fill(need(`DEMO_${who}_PASSWORD`))
  await page.getByRole('button', { name: 'Sign in' }).click()
  await expect(page).toHaveURL(/\/admin\/dashboard$/)
}

test('who signs in next in the same tab sees nothing of the one before', async ({ browser }) => {
  const page = await (await browser.newContext({ baseURL: origin })).newPage()
  await page.goto('/admin/login')
  await signIn(page, 'ADMIN')
  await page.getByRole('link', { name: 'Administrators' }).click()
  await expect(page.getByRole('listitem').filter({ hasText: 'Elin Dahl' })).toBeVisible()
  await page.getByRole('button', { name: 'Sign Out' }).click()
  await expect(page).toHaveURL(/\/admin\/login$/)

  // From here on nothing is loaded that could put right what is shown.
  await page.route('**/rpc/get_admin_overview', (route) => route.abort())
  await signIn(page, 'SUPPORT')
  const side = page.getByRole('complementary', { name: 'Side' })
  await expect(side.getByText(need('DEMO_SUPPORT_EMAIL'))).toBeVisible()
  await expect(side.getByRole('link', { name: 'Settings' })).toBeVisible()
  await expect(side.getByRole('link', { name: 'Administrators' })).toHaveCount(0)
  await expect(side.getByRole('link', { name: 'Readiness' })).toHaveCount(0)
  await page.context().close()
})

test('an open page follows the administrator who signs in in another tab', async ({ browser }) => {
  const context = await administratorBrowser(browser)
  const [page, other] = [await context.newPage(), await context.newPage()]
  await page.goto('/admin/dashboard')
  await other.goto('/admin/dashboard')
  const side = page.getByRole('complementary', { name: 'Side' })
  await expect(side.getByRole('link', { name: 'Administrators' })).toBeVisible()
  const support = await administratorSession(need('DEMO_SUPPORT_EMAIL'), need('DEMO_SUPPORT_PASSWORD'))
  await other.evaluate(([key, value]) => localStorage.setItem(key, value), [
    administratorKey,
    JSON.stringify(support),
  ] as const)
  await expect(side.getByText(need('DEMO_SUPPORT_EMAIL'))).toBeVisible()
  await expect(side.getByRole('link', { name: 'Administrators' })).toHaveCount(0)
  await context.close()
})

test('a session that has ended is said when the password or the second step is changed', async ({
  browser,
}) => {
  const context = await administratorBrowser(browser)
  const page = await context.newPage()
  await page.goto('/admin/settings')
  const token = await page.evaluate(
    (key) => (JSON.parse(localStorage.getItem(key) ?? '{}') as { access_token: string }).access_token,
    administratorKey,
  )
  // A page that shows what it loaded hears the keys too.
  const signIns = page.getByRole('region', { name: 'Your latest sign-ins' })
  await expect(signIns.getByRole('listitem').first()).toBeVisible()
  const start = page.getByRole('button', { name: 'Set up two-step sign-in' })
  // The first sign of a person asks the server too; what is pressed afterwards must say it by itself.
  const touched = page.waitForResponse('**/rpc/touch_admin_session')
  await start.focus()
  await page.keyboard.press('Shift')
  await touched
  await send(token, 'POST', '/functions/v1/admin-auth', { action: 'logout' })
  await start.press('Enter')
  await expect(page).toHaveURL(/\/admin\/login$/)
  await context.close()
})

test('a code that does not match can be typed again and does not sign out', async ({ browser }) => {
  const context = await administratorBrowser(browser)
  const page = await context.newPage()
  await page.goto('/admin/settings')
  await page.getByRole('button', { name: 'Set up two-step sign-in' }).click()
  await page.getByLabel('Six-digit code').fill('000000')
  await page.getByRole('button', { name: 'Turn on' }).click()
  await expect(page.getByText('That code did not match. Codes change every 30 seconds.')).toBeVisible()
  await expect(page.getByLabel('Six-digit code')).toBeFocused()
  await page.keyboard.type('1')
  await expect(page.getByLabel('Six-digit code')).toHaveValue('1')
  await page.getByRole('button', { name: 'Cancel' }).click()
  await expect(page.getByRole('button', { name: 'Set up two-step sign-in' })).toBeVisible()
  await context.close()
})

test('a list that does not load is said under the title Error', async ({ browser }) => {
  const context = await administratorBrowser(browser)
  const page = await context.newPage()
  let asked = 0
  await page.route('**/functions/v1/admin-get-transactions', (route) => {
    asked++
    return route.fulfill({ status: 500, json: { success: false, error: 'It went wrong.' } })
  })
  await context.clock.install()
  await page.goto('/admin/transactions')
  const toast = page.getByRole('listitem').filter({ hasText: 'Failed to load transactions' })
  await expect(async () => {
    // Past one of the three pauses before it is asked for again; later it would be past the message itself.
    if (asked < 4) await context.clock.fastForward(4000)
    await expect(toast.getByText('Error', { exact: true })).toBeVisible({ timeout: 500 })
  }).toPass()
  await context.close()
})

interface NewAccount {
  administrator: { id: string }
  password: string
}

test('a super administrator sees where an account is signed in, and ends that', async ({ browser }) => {
  const owner = await administratorSession(need('DEMO_ADMIN_EMAIL'), need('DEMO_ADMIN_PASSWORD'))
  const email = `ends-${crypto.randomUUID().slice(0, 8)}@admins.example`
  const { password } = await send<NewAccount>(owner.access_token, 'POST', '/functions/v1/admin-accounts', {
    action: 'create',
    email,
    fullName: 'Ida Away',
    role: 'support_admin',
  })
  await administratorSession(email, password)
  const away = await (await browser.newContext({ baseURL: origin })).newPage()
  await away.goto('/admin/login')
  await away.getByLabel('Email').fill(email)
  await away.getByLabel('Password', { exact: true }).fill(password)
  await away.getByRole('button', { name: 'Sign in' }).click()
  await expect(away).toHaveURL(/\/admin\/dashboard$/)
  await away.goto('/admin/settings')
  await expect(
    away.getByRole('listitem').filter({ hasText: /^.*Chrome on Linux, 127\.0\.0\.1$/ }),
  ).toBeVisible()

  const page = await (await administratorBrowser(browser)).newPage()
  await page.goto('/admin/administrators')
  await page.getByRole('button', { name: `2 sessions of ${email}` }).click()
  const dialog = page.getByRole('dialog', { name: 'Sessions of Ida Away' })
  const sessions = dialog.getByRole('list', { name: 'Sessions' }).getByRole('listitem')
  await expect(sessions).toHaveCount(2)
  await expect(sessions.filter({ hasText: 'Chrome on Linux' })).toHaveCount(1)
  expect(await violations(page)).toEqual([])
  await dialog.getByRole('button', { name: 'End all sessions' }).click()
  await expect(dialog).toBeHidden()
  await expect(page.getByRole('listitem').filter({ hasText: email }).getByText('0 sessions')).toBeVisible()
  await away.getByRole('link', { name: 'Dashboard' }).click()
  await expect(away).toHaveURL(/\/admin\/login/)
  await away.context().close()
  await page.context().close()
})
