import { expect, test, type Page } from '@playwright/test'
import { walletOf } from '../../api/js/wallet.js'
import { createMember, openAs } from '../people'
import { administratorSession, need, origin } from '../stack'

const suspended = 'Your account has been suspended. Please contact support for assistance.'

/** Suspends a member as the demo's administrator does. */
async function suspend(email: string): Promise<void> {
  const { access_token: token } = await administratorSession(
    need('DEMO_ADMIN_EMAIL'),
    need('DEMO_ADMIN_PASSWORD'),
  )
  const headers = {
    apikey: need('SUPABASE_ANON_KEY'),
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
  }
  const found = await fetch(`${origin}/rest/v1/profiles?select=id&email=eq.${encodeURIComponent(email)}`, {
    headers,
  })
  const [profile] = (await found.json()) as { id: string }[]
  const response = await fetch(`${origin}/functions/v1/admin-update-member`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ profileId: profile?.id, account_status: 'suspended', reason: 'Journey' }),
  })
  expect(response.ok, await response.text()).toBe(true)
}

/** Makes the page ask the server again, unless it has done so by itself and already shows the notice. */
async function askServer(page: Page): Promise<void> {
  const refresh = page.getByRole('button', { name: 'Refresh' })
  const notice = page.getByText(/Your session ended|has been suspended/).first()
  await expect(async () => {
    if (!(await notice.isVisible())) await refresh.click({ timeout: 1000 })
    await expect(notice).toBeVisible({ timeout: 3000 })
  }).toPass()
}

test('a suspended member sees why, is signed out, and sees it again when signing in', async ({
  browser,
  page: later,
}) => {
  const member = await createMember('held')
  const page = await openAs(browser, member)
  await page.goto('/dashboard')
  await expect(page.getByRole('heading', { name: 'Your Command Center' })).toBeVisible()

  await suspend(member.email)
  await askServer(page)

  await later.goto('/sign-in')
  await later.getByLabel('Email').fill(member.email)
  await later.getByLabel('Password', { exact: true }).fill(member.password)
  await later.getByRole('button', { name: 'Sign in' }).click()
  await expect(later.getByText(suspended)).toBeVisible()
  // The reason is said at once; the session is gone when the form may be used again.
  await expect(later.getByRole('button', { name: 'Sign in', exact: true })).toBeVisible()
  await later.goto('/dashboard')
  await expect(later).toHaveURL('/sign-in?redirect=%2Fdashboard')
})

/** Ends every session of the member whose page this is, as another device would. */
async function endSessions(page: Page): Promise<void> {
  await page.waitForLoadState('networkidle')
  const token = await page.evaluate(() => {
    const key = Object.keys(localStorage).find((name) => name.endsWith('-auth-token')) ?? ''
    return (JSON.parse(localStorage.getItem(key) ?? '{}') as { access_token: string }).access_token
  })
  await fetch(`${origin}/auth/v1/logout?scope=global`, {
    method: 'POST',
    headers: { apikey: need('SUPABASE_ANON_KEY'), authorization: `Bearer ${token}` },
  })
}

test('when a session ends under an open page, the page stays and asks to sign in', async ({ browser }) => {
  const member = await createMember('ended')
  const page = await openAs(browser, member)
  await page.goto('/dashboard')
  await expect(page.getByRole('heading', { name: 'Your Command Center' })).toBeVisible()
  await endSessions(page)
  await askServer(page)
  const dialog = page.getByRole('dialog', { name: 'Your session ended. Sign in to continue.' })
  await expect(dialog).toBeVisible()
  // Coming back to the tab makes the auth client look for a session again.
  await page.evaluate(() => window.dispatchEvent(new Event('visibilitychange')))
  await page.waitForTimeout(1000)
  await expect(dialog).toBeVisible()
  await expect(dialog.getByLabel('Email')).toHaveValue(member.email)
  await expect(dialog.getByLabel('Password', { exact: true })).toBeFocused()
  await dialog.getByLabel('Password', { exact: true }).fill(member.password)
  await dialog.getByRole('button', { name: 'Sign in' }).click()
  await expect(dialog).toBeHidden()
  // The dialog goes before all is done, and this message would take the place of the next one.
  await expect(page.getByText('Signed in successfully!')).toBeVisible()
  await expect(page).toHaveURL(/\/dashboard$/)
  await page.getByRole('button', { name: 'Refresh' }).click()
  await expect(page.getByText('MLM Sync Complete')).toBeVisible()
  await page.context().close()
})

test('what was typed before the session ended is there after signing in again', async ({ browser }) => {
  const member = await createMember('typed')
  const page = await openAs(browser, member)
  await page.goto('/settings')
  const field = page.getByLabel('TRC20 wallet address')
  const wallet = walletOf(member.username)
  await field.fill(wallet)
  await endSessions(page)
  await page.getByRole('button', { name: 'Save address' }).click()
  const dialog = page.getByRole('dialog', { name: 'Your session ended. Sign in to continue.' })
  await dialog.getByLabel('Password', { exact: true }).fill(member.password)
  await dialog.getByRole('button', { name: 'Sign in' }).click()
  await expect(dialog).toBeHidden()
  await expect(field).toHaveValue(wallet)
  await page.getByRole('button', { name: 'Save address' }).click()
  await expect(page.getByText('Profile updated successfully')).toBeVisible()
  await page.context().close()
})
