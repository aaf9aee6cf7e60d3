import { execFileSync } from 'node:child_process'
import { expect, test, type Page } from '@playwright/test'
import { violations } from '../accessibility'
import { administratorBrowser } from '../people'
import { administratorKey, need, origin } from '../stack'

// Who signed in more than ten minutes ago is asked again in place, and goes on with what was typed.
// threats: T69

const token = (page: Page) =>
  page.evaluate(
    (key) => JSON.parse(localStorage.getItem(key) ?? '{}') as { session_token: string; access_token: string },
    administratorKey,
  )

/** Moves the start of the page's session back, and its end with it. */
async function signedInBefore(page: Page, age: string): Promise<void> {
  const { session_token: session } = await token(page)
  const moved = `with moved as (
      update private.admin_session_activity set started_at = now() - interval '${age}'
      where session_token = '${session}' returning session_token, started_at
    ) update public.admin_sessions as s set expires_at = m.started_at + interval '8 hours'
    from moved as m where s.session_token = m.session_token`
  execFileSync('psql', [need('DATABASE_ADMIN_URL'), '--quiet', '--command', moved])
}

async function change(page: Page, key: string) {
  const row = page.getByRole('listitem').filter({ hasText: key })
  await row.getByRole('button', { name: /^Change/ }).click()
  return page.getByRole('dialog')
}

test('an old sign-in is proved over the page, which keeps what was typed', async ({ browser }) => {
  const context = await administratorBrowser(browser)
  const [page, other] = [await context.newPage(), await context.newPage()]
  for (const tab of [page, other]) {
    await tab.goto('/admin/readiness')
    await expect(tab.getByRole('listitem').filter({ hasText: 'deposit.address' })).toBeVisible()
  }
  const before = await token(page)
  await signedInBefore(page, '11 minutes')

  const form = await change(page, 'deposit.address')
  const field = form.getByLabel('deposit.address')
  const address = await field.inputValue()
  const save = form.getByRole('button', { name: 'Save' })
  const proof = page.getByRole('dialog', { name: 'Confirm it’s you' })
  await save.click()
  const password = proof.getByLabel('Password', { exact: true })
  await expect(password).toBeFocused()
  expect(await violations(page)).toEqual([])

  await password.fill('not this one')
  await page.keyboard.press('Enter')
  await expect(proof.getByRole('alert')).toHaveText('That password is not right.')

  // Cancelled by keyboard, the form is as it was.
  await page.keyboard.press('Escape')
  await expect(proof).toBeHidden()
  await expect(field).toHaveValue(address)
  await expect(form.getByText(/^Sign in again to change deposit\.address/)).toBeVisible()
  await expect(save).toBeFocused()

  await save.click()
  await password.fill(need('DEMO_ADMIN_PASSWORD'))
  await proof.getByRole('button', { name: 'Continue' }).click()
  await expect(page.getByText('Setting saved')).toBeVisible()
  await expect(form).toBeHidden()
  await expect(page).toHaveURL(/\/admin\/readiness$/)

  // The session from before has ended, and the other tab goes on with the new one.
  expect((await token(other)).session_token).not.toBe(before.session_token)
  const old = await fetch(`${origin}/rest/v1/admin_sessions`, {
    headers: { apikey: need('SUPABASE_ANON_KEY'), authorization: `Bearer ${before.access_token}` },
  })
  expect(old.status).toBe(401)
  const renamed = await change(other, 'deposit.address')
  await renamed.getByRole('button', { name: 'Save' }).click()
  await expect(other.getByText('Setting saved')).toBeVisible()
  await context.close()
})
