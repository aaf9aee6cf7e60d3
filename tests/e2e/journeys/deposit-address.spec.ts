import { expect, test } from '@playwright/test'
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
