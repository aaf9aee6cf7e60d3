import { expect, test } from '@playwright/test'
import { overflow, violations } from '../accessibility'
import { openAs } from '../people'
import { need } from '../stack'

const pages = [
  '/dashboard',
  '/dashboard?view=advanced&tab=bonuses',
  '/dashboard?view=advanced&tab=pairing',
  '/dashboard?view=advanced&tab=network',
  '/dashboard?view=advanced&tab=tree',
  '/dashboard?view=compact',
  '/deposit',
  '/withdraw',
  '/transactions',
  '/packages',
  '/profile',
  '/settings',
  '/notifications',
  '/bots',
  '/education',
]

const demo = () => ({ email: need('DEMO_MEMBER_EMAIL'), password: need('DEMO_MEMBER_PASSWORD') })

for (const colorScheme of ['light', 'dark'] as const) {
  test(`every member page is accessible in ${colorScheme}, fits 320 px and logs no error`, async ({
    browser,
  }) => {
    test.setTimeout(300_000)
    const page = await openAs(browser, demo())
    const errors: string[] = []
    page.on('pageerror', (error) => errors.push(error.message))
    page.on('console', (message) => {
      if (message.type() === 'error') errors.push(message.text())
    })
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    for (const path of pages) {
      await page.setViewportSize({ width: 1440, height: 900 })
      await page.goto(path)
      await expect(page.getByRole('heading', { level: 1 })).toBeVisible()
      await page.waitForLoadState('networkidle')
      await page.waitForTimeout(300)
      expect.soft(await violations(page), path).toEqual([])
      await page.setViewportSize({ width: 320, height: 640 })
      await page.waitForTimeout(200)
      expect.soft(await overflow(page), path).toBe(0)
    }
    expect(errors).toEqual([])
    await page.context().close()
  })
}

test('the team tree is walked with the keyboard alone', async ({ browser }) => {
  const page = await openAs(browser, demo())
  await page.goto('/dashboard?view=advanced&tab=tree')
  const tree = page.getByRole('treegrid', { name: 'Team tree of mara_l' })
  const row = (name: RegExp) => tree.getByRole('row', { name })
  await row(/Mara Lindholm/).focus()
  await page.keyboard.press('ArrowDown')
  await expect(row(/Erik Sand/)).toBeFocused()
  await page.keyboard.press('ArrowRight')
  await expect(row(/Marta Kovar/)).toBeVisible()
  await expect(row(/Erik Sand/)).toHaveAttribute('aria-expanded', 'true')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowLeft')
  await expect(row(/Erik Sand/)).toBeFocused()
  await page.keyboard.press('ArrowLeft')
  await expect(row(/Marta Kovar/)).toBeHidden()
  await page.keyboard.press('Enter')
  await expect(page.getByRole('dialog', { name: 'Erik Sand' })).toBeVisible()
  await page.context().close()
})

test('the referral link is copied whole, and its code saved as a picture', async ({ browser }) => {
  const page = await openAs(browser, demo())
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await page.goto('/dashboard')
  await page.getByRole('button', { name: 'Copy referral link' }).click()
  await expect(page.getByText('Referral link copied to clipboard!')).toBeVisible()
  const copied = await page.evaluate(() => navigator.clipboard.readText())
  expect(copied).toContain(`/sign-up?ref=${need('DEMO_REFERRAL_CODE')}`)
  await page.getByRole('button', { name: 'Show QR Code' }).click()
  await expect(page.getByRole('img', { name: 'QR code of your referral link' })).toBeVisible()
  const saved = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Download QR' }).click()
  expect((await saved).suggestedFilename()).toBe('mara_l.png')
  await page.context().close()
})
