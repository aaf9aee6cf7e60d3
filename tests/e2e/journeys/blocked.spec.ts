import { expect, test, type Page } from '@playwright/test'
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
  const answer = await fetch(`${origin}/functions/v1/admin-update-member`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ profileId: profile?.id, account_status: 'suspended', reason: 'Journey' }),
  })
  expect(answer.ok, await answer.text()).toBe(true)
}

/** Makes the page ask the server again, unless it has done so by itself and already shows what it heard. */
async function askServer(page: Page): Promise<void> {
  const refresh = page.getByRole('button', { name: 'Refresh' })
  const heard = page.getByText(/Your session ended|has been suspended/).first()
  await expect(async () => {
    if (!(await heard.isVisible())) await refresh.click({ timeout: 1000 })
    await expect(heard).toBeVisible({ timeout: 3000 })
  }).toPass()
}

test('a suspended member is told why, signed out, and told again when signing in', async ({
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
  await later.goto('/dashboard')
  await expect(later).toHaveURL('/sign-in?redirect=%2Fdashboard')
})

test('when a session ends under an open page, the page stays and asks to sign in', async ({ browser }) => {
  const member = await createMember('ended')
  const page = await openAs(browser, member)
  await page.goto('/dashboard')
  await expect(page.getByRole('heading', { name: 'Your Command Center' })).toBeVisible()

  await page.waitForLoadState('networkidle')
  const token = await page.evaluate(() => {
    const key = Object.keys(localStorage).find((name) => name.endsWith('-auth-token')) ?? ''
    return (JSON.parse(localStorage.getItem(key) ?? '{}') as { access_token: string }).access_token
  })
  await fetch(`${origin}/auth/v1/logout?scope=global`, {
    method: 'POST',
    headers: { apikey: need('SUPABASE_ANON_KEY'), authorization: `Bearer ${token}` },
  })
  await askServer(page)
  const dialog = page.getByRole('dialog', { name: 'Your session ended. Sign in to continue.' })
  await expect(dialog).toBeVisible()
  await dialog.getByRole('link', { name: 'Sign in' }).click()
  await expect(page).toHaveURL('/sign-in?redirect=%2Fdashboard')
})
