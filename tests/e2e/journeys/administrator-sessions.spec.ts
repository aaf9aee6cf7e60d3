import { expect, test, type Page } from '@playwright/test'
import { administratorBrowser, send } from '../people'
import { administratorKey } from '../stack'

// Sessions of administrators in one browser: several tabs of one person.

const warning = (page: Page) => page.getByRole('dialog', { name: 'Are you still there?' })

test('a tab that lies idle does not sign out the tab that is used, and both end when nobody is there', async ({
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
