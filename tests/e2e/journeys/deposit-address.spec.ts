import { expect, test } from '@playwright/test'
import { violations } from '../accessibility'
import { createMember, openAs, send, setWallet, signedIn } from '../people'
import { administratorSession, need } from '../stack'

// The address that members pay to is the operator's setting, character by character, and requested each time.
// threats: T121

interface Setting {
  key: string
  value: unknown
}

test('the deposit page shows and copies the address of the settings, and keeps no older one', async ({
  browser,
}) => {
  const { access_token: token } = await administratorSession(
    need('DEMO_ADMIN_EMAIL'),
    need('DEMO_ADMIN_PASSWORD'),
  )
  const member = await createMember('payer')
  await setWallet(await signedIn(member))
  const page = await openAs(browser, member)
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  // Again, in case another test changes it between the two requests.
  await expect(async () => {
    const settings = await send<Setting[]>(token, 'POST', '/functions/v1/admin-settings', { action: 'list' })
    const expected = settings.find(({ key }) => key === 'deposit.address')?.value as string
    expect(expected).toMatch(/^T\w{33}$/)
    const asked = page.waitForResponse((response) => response.url().includes('/rpc/get_deposit_options'))
    await page.goto('/deposit')
    expect((await asked).headers()['cache-control']).toBe('no-store')
    const box = page.getByRole('region', { name: 'Where to send' })
    expect((await box.textContent())?.replaceAll(/\s/g, '')).toContain(expected)
    await box.getByRole('button', { name: /Copy/ }).click()
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(expected)
  }).toPass({ timeout: 60_000 })
  await page.context().close()
})

test('while deposits are closed nobody is shown where to send, and every page says so @alone', async ({
  browser,
}) => {
  const owner = await administratorSession(need('DEMO_ADMIN_EMAIL'), need('DEMO_ADMIN_PASSWORD'))
  const set = (value: boolean) =>
    send(owner.access_token, 'POST', '/functions/v1/admin-settings', {
      action: 'change',
      key: 'deposit.open',
      value,
    })
  const member = await createMember('payer')
  await setWallet(await signedIn(member))
  const page = await openAs(browser, member)
  const notice = page.getByText(/^Deposits are closed at the moment\. Send no USDT\./)
  try {
    await set(false)
    // What a page begins with may be two seconds old.
    await expect(async () => {
      await page.goto('/dashboard')
      await expect(page.getByRole('status').filter({ has: notice })).toBeVisible({ timeout: 2_000 })
    }).toPass()
    await page.goto('/deposit')
    await expect(page.getByRole('main').getByText(/^Deposits are closed at the moment\./)).toBeVisible()
    await expect(notice).toHaveCount(1)
    await expect(page.getByRole('region', { name: 'Where to send' })).toBeHidden()
    await expect(page.getByRole('button', { name: 'Review deposit' })).toBeHidden()
    expect(await violations(page)).toEqual([])
  } finally {
    await set(true)
  }
  await page.reload()
  await expect(page.getByRole('region', { name: 'Where to send' })).toBeVisible()
  await expect(notice).toBeHidden()
  await page.context().close()
})
