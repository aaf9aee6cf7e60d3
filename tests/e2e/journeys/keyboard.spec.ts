import { randomBytes } from 'node:crypto'
import { expect, test, type Locator, type Page } from '@playwright/test'
import { walletOf } from '../../api/js/wallet.js'
import { untilAlive } from '../alive'
import { mailTo, openLink } from '../mail'
import { createEarner } from '../people'
import { receiptPicture } from '../receipt'
import { need } from '../stack'

// The pointer is never used: what a person does from the landing page to a withdrawal, by keys alone.

const password = 'Lantern-at-the-quay-7'

/** As many stops as a patient person makes. */
const patience = 60

/** Goes on with Tab until a part has the focus, as somebody would who sees where the focus is. */
async function reach(page: Page, part: Locator, key: 'Tab' | 'Shift+Tab' = 'Tab'): Promise<void> {
  await expect(part).toBeVisible()
  for (let stop = 0; stop < patience; stop++) {
    if (await part.evaluate((element) => element === document.activeElement)) return
    await page.keyboard.press(key)
  }
  throw new Error(`${patience} Tabs do not lead to ${part}`)
}

async function press(page: Page, part: Locator, key = 'Enter'): Promise<void> {
  await reach(page, part)
  await page.keyboard.press(key)
}

async function type(page: Page, label: string, text: string): Promise<void> {
  await reach(page, page.getByLabel(label, { exact: true }))
  await page.keyboard.type(text)
}

const link = (page: Page, name: string) => page.getByRole('link', { name, exact: true }).first()
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).first()

test('from the landing page to a deposit in review', async ({ page }) => {
  const tag = randomBytes(4).toString('hex')
  const email = `keys.${tag}@example.com`
  await page.goto('/')
  await press(page, link(page, 'Start Your Journey by signing up'))
  await expect(page).toHaveURL(/\/sign-up$/)
  await untilAlive(page)
  await type(page, 'Referral code', need('DEMO_REFERRAL_CODE'))
  await type(page, 'Full name', 'Noor Haddad')
  await type(page, 'Username', `keys_${tag}`)
  await type(page, 'Email', email)
  await type(page, 'Password', password)
  await press(page, page.getByRole('checkbox'), 'Space')
  await press(page, button(page, 'Create account'))
  await expect(page.getByRole('heading', { name: 'Check your email' })).toBeVisible()

  await openLink(page, await mailTo(email, /confirm/i))
  await press(page, link(page, 'Add wallet address'))
  await type(page, 'TRC20 wallet address', walletOf(email))
  await press(page, button(page, 'Save address'))
  await expect(page.getByText('Profile updated successfully')).toBeVisible()

  // The header lies behind.
  await reach(page, link(page, 'Deposit'), 'Shift+Tab')
  await page.keyboard.press('Enter')
  await reach(page, page.getByRole('radio', { name: /Starter/ }))
  await page.keyboard.press('ArrowDown')
  await press(page, page.getByRole('radio', { name: /Basic/ }), 'Space')
  await expect(page.getByRole('radio', { name: /Basic/ })).toBeChecked()
  await type(page, 'Reference number', randomBytes(32).toString('hex'))
  const [chooser] = await Promise.all([
    page.waitForEvent('filechooser'),
    press(page, page.locator('button', { hasText: 'Choose a file' })),
  ])
  await chooser.setFiles({ name: 'transfer.png', mimeType: 'image/png', buffer: receiptPicture() })
  await expect(page.getByText('Receipt uploaded successfully').first()).toBeVisible()
  await press(page, page.getByRole('checkbox', { name: 'I understand' }), 'Space')
  await press(page, button(page, 'Review deposit'))
  await press(page, page.getByRole('dialog').getByRole('button', { name: 'Submit $100.00' }))
  await expect(page.getByRole('heading', { name: 'Deposit, Basic $100.00' })).toBeFocused()
})

test('from signing in to a withdrawal in review', async ({ page }) => {
  const [person] = await createEarner('keys')
  await page.goto('/')
  await press(page, link(page, 'Sign in'))
  await type(page, 'Email', person.email)
  await type(page, 'Password', person.password)
  await page.keyboard.press('Enter')
  await press(page, page.getByRole('main').getByRole('link', { name: 'Withdraw' }).first())
  await type(page, 'Amount', '100')
  await press(page, button(page, 'Review withdrawal'))
  await press(page, page.getByRole('dialog').getByRole('button', { name: 'Request $100.00' }))
  await expect(page.getByRole('heading', { name: /\$100\.00/ })).toBeFocused()
})
