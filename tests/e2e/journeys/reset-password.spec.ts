import { expect, test } from '@playwright/test'
import { mailTo, openLink } from '../mail'
import { createMember, memberBrowser } from '../people'
import { memberSession, need, origin } from '../stack'

const key = need('SUPABASE_ANON_KEY')

async function requestReset(email: string): Promise<void> {
  const to = encodeURIComponent(`${origin}/reset-password`)
  const response = await fetch(`${origin}/auth/v1/recover?redirect_to=${to}`, {
    method: 'POST',
    headers: { apikey: key, 'content-type': 'application/json' },
    body: JSON.stringify({ email }),
  })
  expect(response.ok).toBe(true)
}

test('a lost password is set anew through the mail, and the old one no longer works', async ({
  page,
  request,
}) => {
  const { email, password } = await createMember('reset')
  await page.goto('/sign-in')
  await page.getByRole('link', { name: 'Forgot password?' }).click()
  // The page before has such a field too.
  await expect(page.getByRole('heading', { name: 'Forgot your password?' })).toBeVisible()
  await page.getByLabel('Email').fill(email)
  let asked = 0
  page.on('request', (request) => {
    if (request.method() === 'POST' && request.url().includes('/auth/v1/recover')) asked += 1
  })
  await page.getByRole('button', { name: 'Send link' }).dblclick()
  await expect(page.getByText(`If ${email} has an account, a link is on its way.`)).toBeVisible()
  // One was sent just now.
  await expect(page.getByRole('button', { name: /^Resend in/ })).toBeDisabled()
  expect(asked).toBe(1)

  await openLink(page, await mailTo(email, /password/i))
  await expect(page.getByRole('heading', { name: 'Set a new password' })).toBeVisible()
  await page.getByLabel('New password', { exact: true }).fill('New-lamp-on-the-wall-4')
  await page.getByLabel('New password again').fill('something else')
  await page.getByRole('button', { name: 'Set password' }).click()
  await expect(page.getByText('Password mismatch')).toBeVisible()
  await page.getByLabel('New password again').fill('New-lamp-on-the-wall-4')
  await page.getByRole('button', { name: 'Set password' }).click()
  // The message ends by itself; the page may take its time.
  await expect(page.getByText('Other devices were signed out.')).toBeVisible()
  await expect(page).toHaveURL('/dashboard')

  const old = await request.post('/auth/v1/token?grant_type=password', {
    headers: { apikey: key },
    data: { email, password },
  })
  expect(old.status()).toBe(400)
})

test('an address without an account gets the same response', async ({ page }) => {
  await page.goto('/forgot-password')
  await page.getByLabel('Email').fill('nobody@example.com')
  await page.getByRole('button', { name: 'Send link' }).click()
  await expect(page.getByText('If nobody@example.com has an account, a link is on its way.')).toBeVisible()
})

test('a new password is set only where a recovery link was opened, and once', async ({ browser }) => {
  const [person, other] = [await createMember('reset'), await createMember('other')]
  const context = await memberBrowser(browser, person)
  const page = await context.newPage()
  const form = page.getByRole('heading', { name: 'Set a new password' })
  await page.goto('/reset-password')
  await expect(page).toHaveURL('/settings')
  await expect(page.getByRole('heading', { name: 'Settings', level: 1 })).toBeVisible()
  await expect(form).toBeHidden()

  // A password opened this session, whatever the address says of it.
  const { access_token, refresh_token } = (await memberSession(person.email, person.password)) as Record<
    'access_token' | 'refresh_token',
    string
  >
  const claims = new URLSearchParams({
    access_token,
    refresh_token,
    type: 'recovery',
  })
  await page.goto('about:blank')
  await page.goto(`/reset-password#${claims}`)
  await expect(page).toHaveURL('/settings')

  // A recovery link of another account asks first, then leads where it should.
  await requestReset(other.email)
  await openLink(page, await mailTo(other.email, /password/i))
  await page
    .getByRole('alertdialog')
    .getByRole('button', { name: /^Continue as/ })
    .click()
  await expect(form).toBeVisible()
  await page.reload()
  await expect(form).toBeVisible()
  const second = await context.newPage()
  await second.goto('/reset-password')
  await expect(second).toHaveURL('/settings')
  await second.close()
  await page.getByLabel('New password', { exact: true }).fill('New-lamp-on-the-wall-5')
  await page.getByLabel('New password again').fill('New-lamp-on-the-wall-5')
  await page.getByRole('button', { name: 'Set password' }).click()
  await expect(page).toHaveURL('/dashboard')
  // The page before leaves with its recovery once this one stands.
  await expect(page.getByRole('heading', { name: 'Your Command Center' })).toBeVisible()
  await page.goto('/reset-password')
  await expect(page).toHaveURL('/settings')
  await context.close()
})

test('the six digits of the email lead to the new password, also after the page was loaded anew', async ({
  page,
}) => {
  const { email } = await createMember('digits')
  await page.goto('/forgot-password')
  await page.getByLabel('Email').fill(email)
  await page.getByRole('button', { name: 'Send link' }).click()
  const code = page.getByLabel('Six-digit code')
  await expect(code).toBeVisible()
  const right = /\b\d{6}\b/.exec((await mailTo(email, /password/i)).text)?.[0] ?? ''
  await page.reload()
  await code.fill(right === '000000' ? '000001' : '000000')
  await expect(page.getByText('That code did not match. Use the code from the newest email.')).toBeVisible()
  await code.fill(right)
  await expect(page).toHaveURL('/reset-password')
  await page.getByLabel('New password', { exact: true }).fill('New-lamp-on-the-wall-6')
  await page.getByLabel('New password again').fill('New-lamp-on-the-wall-6')
  await page.getByRole('button', { name: 'Set password' }).click()
  await expect(page).toHaveURL('/dashboard')
})

test('without a session the page offers a new recovery link', async ({ page }) => {
  await page.goto('/reset-password')
  await expect(
    page.getByRole('heading', {
      name: 'This link has expired or was already used.',
    }),
  ).toBeVisible()
})
