import { randomBytes } from 'node:crypto'
import { expect, test } from '@playwright/test'
import { createMember, referrerId } from '../people'
import { need, origin } from '../stack'

test('a guarded page asks to sign in, then opens; signing out leads home', async ({ page }) => {
  const { email, password } = await createMember('sigrid')
  await page.goto('/withdraw')
  await expect(page).toHaveURL('/sign-in?redirect=%2Fwithdraw')
  await expect(page.getByText('Sign in to open Withdraw.')).toBeVisible()

  await page.getByLabel('Email').fill(email)
  await page.getByLabel('Password', { exact: true }).fill('not the password')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await expect(page.getByText('Check your email and password.')).toBeVisible()
  await expect(page.getByText('Failed to sign in')).toBeVisible()
  await expect(page.getByLabel('Email')).toHaveValue(email)

  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  // The message ends by itself; the page may take its time.
  await expect(page.getByText('Signed in successfully!')).toBeVisible()
  await expect(page).toHaveURL('/withdraw')

  await page.getByRole('button', { name: 'Sign Out' }).click()
  await expect(page).toHaveURL('/')
  await expect(page.getByText('Signed out successfully!')).toBeVisible()
  await page.goto('/dashboard')
  await expect(page).toHaveURL('/sign-in?redirect=%2Fdashboard')
})

// All vectors stand beside the source; these two show that the page asks it.
// threats: T113
for (const redirect of ['https://evil.example/', '/.//evil.example']) {
  test(`a redirect to ${redirect} is ignored`, async ({ page }) => {
    const { email, password } = await createMember('sigrid')
    await page.goto(`/sign-in?redirect=${encodeURIComponent(redirect)}`)
    await page.getByLabel('Email').fill(email)
    await page.getByLabel('Password', { exact: true }).fill(password)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await expect(page.getByRole('heading', { name: 'Your Command Center' })).toBeVisible()
    await expect(page).toHaveURL('/dashboard')
  })
}

test('on a phone the links sit in a sheet that keeps the focus and gives it back', async ({ page }) => {
  await page.setViewportSize({ width: 390, height: 844 })
  await page.goto('/')
  const menu = page.getByRole('button', { name: 'Menu' })
  await menu.click()
  const sheet = page.getByRole('dialog', { name: 'Navigation' })
  await expect(sheet.getByRole('link', { name: 'Sign up' })).toBeVisible()
  await page.keyboard.press('Escape')
  await expect(sheet).toBeHidden()
  await expect(menu).toBeFocused()
})

test('a link is sent again to the address that was not confirmed, and too soon is a pause', async ({
  page,
}) => {
  const username = `late_${randomBytes(4).toString('hex')}`
  const person = { email: `${username}@example.com`, password: 'Quay-lantern-1841' }
  const made = await page.request.post(`${origin}/auth/v1/signup`, {
    headers: { apikey: need('SUPABASE_ANON_KEY') },
    data: {
      ...person,
      data: { username, display_name: 'Ilse Brandt', package_value: 0, referrer_id: await referrerId() },
    },
  })
  expect(made.ok()).toBe(true)
  await page.goto('/sign-in')
  await page.getByLabel('Email').fill(person.email)
  await page.getByLabel('Password', { exact: true }).fill(person.password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await expect(page.getByText('Confirm your email first.')).toBeVisible()

  await page.getByLabel('Email').fill('somebody.else@example.com')
  await expect(page.getByText(`We sent a link to ${person.email}.`)).toBeVisible()
  const resend = page.getByRole('button', { name: 'Resend' })
  const [request] = await Promise.all([page.waitForRequest(/\/auth\/v1\/resend/), resend.click()])
  expect(request.postDataJSON()).toMatchObject({ email: person.email })
  await expect(page.getByRole('button', { name: /^Resend in \d+ s$/ })).toBeVisible()
  await expect(page.getByText('The email could not be sent.')).toHaveCount(0)
})
