import { expect, test, type Page } from '@playwright/test'
import { createMember, memberBrowser, openAs, send, setWallet, signedIn } from '../people'
import { receiptPicture } from '../receipt'
import { memberKey, memberSession } from '../stack'

test('a member ends a session elsewhere, which asks to sign in at its next step', async ({ browser }) => {
  const person = await createMember('else')
  const elsewhere = await (await memberBrowser(browser, person)).newPage()
  // Not the dashboard: it reads again by itself, and may ask before anything is pressed.
  await elsewhere.goto('/education')
  const step = elsewhere.getByRole('button', { name: 'Mark as done: Reading a chart' })
  await expect(step).toBeVisible()
  const context = await browser.newContext()
  const page = await context.newPage()
  await page.goto('/sign-in?redirect=/settings')
  await page.getByLabel('Email').fill(person.email)
  await page.getByLabel('Password', { exact: true }).fill(person.password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  const sessions = page.getByRole('list', { name: 'Sessions' }).getByRole('listitem')
  await expect(sessions).toHaveCount(2)
  await expect(sessions.first()).toContainText('This device')
  await expect(sessions.first()).toContainText('Chrome on Linux')
  await sessions
    .last()
    .getByRole('button', { name: /^End session/ })
    .click()
  await expect(page.getByText('The session was ended')).toBeVisible()
  await expect(sessions).toHaveCount(1)
  await expect(page.getByText('You are not signed in anywhere else.')).toBeVisible()
  await step.click()
  await expect(elsewhere.getByRole('dialog', { name: /^Your session ended/ })).toBeVisible()
  await context.close()
  await elsewhere.context().close()
})

test('all other sessions end together', async ({ browser }) => {
  const person = await createMember('many')
  const page = await openAs(browser, person)
  await Promise.all([signedIn(person), signedIn(person)])
  await page.goto('/settings')
  const sessions = page.getByRole('list', { name: 'Sessions' }).getByRole('listitem')
  await expect(sessions).toHaveCount(3)
  await page.getByRole('button', { name: 'End all others' }).click()
  await expect(page.getByText('All other sessions were ended')).toBeVisible()
  await expect(sessions).toHaveCount(1)
  await page.context().close()
})

/** A token that ran out, and nothing that the server would exchange for a new one. */
const wornOut = { expires_at: 1, refresh_token: 'wornoutworno' }

async function wearOut(page: Page): Promise<void> {
  await page.evaluate(
    ([key, changes]) => {
      const kept = JSON.parse(localStorage.getItem(key) ?? '{}') as object
      localStorage.setItem(key, JSON.stringify({ ...kept, ...changes }))
    },
    [memberKey, wornOut] as const,
  )
}

const ended = (page: Page) => page.getByRole('dialog', { name: 'Your session ended. Sign in to continue.' })
const why = /^It was ended on another device, or by a change of your password/

test('a session that could not be renewed keeps its page, says why, and goes on where it was', async ({
  browser,
}) => {
  const person = await createMember('worn')
  const page = await openAs(browser, person)
  await page.goto('/profile')
  await page.getByLabel('Username').fill('half_typed')
  await wearOut(page)
  // What the browser says when the tab is looked at again.
  await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')))
  await expect(ended(page)).toBeVisible()
  await expect(ended(page).getByText(why)).toBeVisible()
  // Said again, it changes nothing.
  await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')))
  await page.waitForTimeout(1000)
  await expect(page).toHaveURL('/profile')
  await ended(page).getByLabel('Password', { exact: true }).fill(person.password)
  await ended(page).getByRole('button', { name: 'Sign in' }).click()
  await expect(ended(page)).toBeHidden()
  await expect(page.getByLabel('Username')).toHaveValue('half_typed')

  // Nothing of it is kept where it is found to have ended.
  const kept = JSON.stringify({ ...(await memberSession(person.email, person.password)), ...wornOut })
  const fresh = await (await browser.newContext()).newPage()
  await fresh.goto('/robots.txt')
  await fresh.evaluate(([key, session]) => localStorage.setItem(key, session), [memberKey, kept] as const)
  await fresh.goto('/withdraw')
  await expect(fresh).toHaveURL('/sign-in?redirect=%2Fwithdraw')
  await expect(fresh.getByText('Your session ended. Sign in to continue.')).toBeVisible()
  await expect(fresh.getByText(why)).toBeVisible()
  await fresh.context().close()
  await page.context().close()
})

test('whatever request meets an ended session first, the page asks to sign in and shows no word of the database', async ({
  browser,
}) => {
  const person = await createMember('gone')
  const account = await signedIn(person)
  await setWallet(account)
  const page = await openAs(browser, person)
  await page.goto('/deposit')
  await page.getByRole('radio', { name: /Standard/ }).click()
  await send(account.token, 'POST', '/rest/v1/rpc/end_other_sessions', {})
  // The upload alone meets it.
  await page.route('**/rest/v1/**', (route) => route.abort())
  await page
    .locator('input[type=file]')
    .setInputFiles({ name: 'transfer.png', mimeType: 'image/png', buffer: receiptPicture() })
  await expect(ended(page)).toBeVisible()
  const second = await openAs(browser, person)
  await second.goto('/education')
  await expect(second.getByRole('button', { name: 'Mark as done: Reading a chart' })).toBeVisible()
  // As another tab leaves it that noticed first.
  await second.evaluate((key) => localStorage.removeItem(key), memberKey)
  // The dialog may be there by itself before.
  await second.locator('header a[href="/deposit"]').first().dispatchEvent('click')
  await expect(ended(second)).toBeVisible()
  await expect(second.getByText('We hide figures until we can load them correctly.')).toBeVisible()
  await expect(second.getByText(/permission denied/)).toHaveCount(0)
  await second.context().close()
  await page.context().close()
})
