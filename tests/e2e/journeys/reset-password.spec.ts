import { expect, test } from '@playwright/test'
import { linkOf, mailTo } from '../mail'
import { createMember } from '../people'
import { need } from '../stack'

const key = need('SUPABASE_ANON_KEY')

test('a lost password is set anew through the mail, and the old one no longer works', async ({
  page,
  request,
}) => {
  const { email, password } = await createMember('reset')
  await page.goto('/sign-in')
  await page.getByRole('link', { name: 'Forgot password?' }).click()
  await page.getByLabel('Email').fill(email)
  await page.getByRole('button', { name: 'Send link' }).click()
  await expect(page.getByText(`If ${email} has an account, a link is on its way.`)).toBeVisible()

  await page.goto(linkOf(await mailTo(email, /password/i)))
  await expect(page.getByRole('heading', { name: 'Set a new password' })).toBeVisible()
  await page.getByLabel('New password', { exact: true }).fill('New-lamp-on-the-wall-4')
  await page.getByLabel('New password again').fill('something else')
  await page.getByRole('button', { name: 'Set password' }).click()
  await expect(page.getByText('Password mismatch')).toBeVisible()
  await page.getByLabel('New password again').fill('New-lamp-on-the-wall-4')
  await page.getByRole('button', { name: 'Set password' }).click()
  await expect(page).toHaveURL('/dashboard')
  await expect(page.getByText('Other devices were signed out.')).toBeVisible()

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
