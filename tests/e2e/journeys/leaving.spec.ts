import { readFileSync } from 'node:fs'
import { expect, test } from '@playwright/test'
import { createMember, openUnproved, provePassword, requestDeposit, setWallet, signedIn } from '../people'

test('a member downloads everything as one file, after the password', async ({ browser }) => {
  const person = await createMember('takes')
  const page = await openUnproved(browser, person)
  await page.goto('/settings')
  await page.getByRole('button', { name: 'Export my data' }).click()
  await provePassword(page, 'not the one')
  await expect(page.getByText('Wrong password')).toBeVisible()
  await expect(page.getByLabel('Your password')).toBeFocused()
  const saved = page.waitForEvent('download')
  await provePassword(page, person.password)
  const file = await saved
  expect(file.suggestedFilename()).toMatch(/^my-data-\d{4}-\d\d-\d\d\.zip$/)
  const bytes = readFileSync(await file.path())
  expect(bytes.subarray(0, 2).toString()).toBe('PK')
  for (const name of ['data.json', 'profile.csv']) expect(bytes.includes(name)).toBe(true)
  // The session that proved the password is gone again, also from the list; this one lives.
  await expect(page.getByRole('dialog')).toHaveCount(0)
  await expect(page.getByText('You are not signed in anywhere else.')).toBeVisible()
  await page.context().close()
})

test('closing names the money that is given up, signs out, and the account is closed', async ({
  browser,
}) => {
  const person = await createMember('leaves')
  const account = await signedIn(person)
  await setWallet(account)
  await requestDeposit(account, 250)
  const context = (await openUnproved(browser, person)).context()
  const [page, other] = [await context.newPage(), await context.newPage()]
  await other.goto('/profile')
  await expect(other.getByLabel('Username')).toHaveValue(person.username)
  await page.goto('/settings')
  await page.getByRole('button', { name: 'Close my account' }).click()
  const dialog = page.getByRole('dialog', { name: 'Close your account?' })
  await expect(dialog.getByRole('alert').first()).toContainText('Pending deposits$250.00')
  await dialog.getByRole('button', { name: 'Keep my account' }).click()
  await expect(dialog).toBeHidden()

  await page.getByRole('button', { name: 'Close my account' }).click()
  await dialog.getByRole('button', { name: 'Give this up and close' }).click()
  await provePassword(page, 'not the one')
  await expect(page.getByText('Wrong password')).toBeVisible()
  await provePassword(page, person.password)
  await expect(page).toHaveURL(/\/sign-in/)
  await expect(page.getByText(/^Your account is closed\./)).toBeVisible()
  await expect(other).toHaveURL(/\/sign-in/)
  await page.getByLabel('Email').fill(person.email)
  await page.getByLabel('Password', { exact: true }).fill(person.password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await expect(page.getByText('Check your email and password.')).toBeVisible()
  await context.close()
})
