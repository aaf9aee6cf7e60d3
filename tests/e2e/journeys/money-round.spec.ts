import { randomBytes } from 'node:crypto'
import { expect, test, type Browser, type Page } from '@playwright/test'
import { walletOf } from '../../api/js/wallet.js'
import { mailTo, openLink } from '../mail'
import { administratorBrowser, createFunded, openAs, profileId, type Person } from '../people'
import { receiptPicture } from '../receipt'
import { need } from '../stack'

// One member's money goes all the way round: joined by a link, paid for a package, approved by an administrator,
// earned by the referrer, asked for, approved, and equal to the cent on every screen.
test.describe.configure({ mode: 'serial' })

const tag = randomBytes(4).toString('hex')
const newcomer = {
  name: 'Ilse Brandt',
  username: `ilse_${tag}`,
  email: `ilse.${tag}@example.com`,
  password: 'Quay-and-lantern-22',
}
const reference = randomBytes(32).toString('hex')
const packagePrice = '$1,000.00'

async function signInAdministrator(page: Page): Promise<void> {
  await page.goto('/admin/dashboard')
  await expect(page).toHaveURL(/\/admin\/login$/)
  await page.getByLabel('Email').fill(need('DEMO_ADMIN_EMAIL'))
  await page.getByLabel('Password', { exact: true }).fill('not this one')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await expect(page.getByText('Authentication failed')).toBeVisible()
  await page.getByLabel('Password', { exact: true }).fill(need('DEMO_ADMIN_PASSWORD'))
  await page.getByRole('button', { name: 'Sign in' }).click()
  await expect(page).toHaveURL(/\/admin\/dashboard$/)
}

/** "$1,234.50" as whole cents, so that sums here are as exact as the product's. */
function cents(text: string | null): number {
  const found = /(−?)\$([\d,]+)\.(\d\d)/.exec(text ?? '')
  if (!found) throw new Error(`No amount in ${JSON.stringify(text)}`)
  const value = Number(`${found[2]?.replaceAll(',', '')}${found[3]}`)
  return found[1] ? -value : value
}

/** The withdrawable balance as the dashboard shows it. */
async function balance(page: Page): Promise<number> {
  await page.goto('/dashboard')
  const card = page.getByRole('region', { name: 'Withdrawable balance' })
  await expect(card.getByText(/\$[\d,]+\.\d\d/).first()).toBeVisible()
  return cents(await card.textContent())
}

// The referrer (Premium, 40%) has one member below, with $1,000. The newcomer's $1,000 must earn 5% of the package,
// and 40% of the pair's volume, as they complete a pair.
const owedToReferrer = 50_00 + 2000_00 * 0.4
let referrer: Person
let referral: string

test.beforeAll(async () => {
  const [person, account] = await createFunded('mara', 500)
  referrer = person
  referral = await profileId(account)
  await createFunded('partner', 1000, { referrer: referral })
})

test('a visitor joins by a referral link and confirms by mail', async ({ page }) => {
  await page.goto(`/sign-up?ref=${referral}`)
  await expect(page.getByText(`@${referrer.username}`)).toBeVisible()
  await page.getByLabel('Full name').fill(newcomer.name)
  await page.getByLabel('Username').fill(newcomer.username)
  await page.getByLabel('Email').fill(newcomer.email)
  await page.getByLabel('Password', { exact: true }).fill(newcomer.password)
  await page.getByRole('checkbox').check()
  await page.getByRole('button', { name: 'Create account' }).click()
  await expect(page.getByRole('heading', { name: 'Check your email' })).toBeVisible()
  await openLink(page, await mailTo(newcomer.email, /confirm/i))
  await expect(page.getByRole('heading', { name: 'Your Command Center' })).toBeVisible()
  await expect(page.getByText('Add your TRC-20 wallet address for withdrawals')).toBeVisible()
})

test('the member completes the account and sends a deposit', async ({ browser }) => {
  const page = await openAs(browser, newcomer)
  await page.goto('/deposit')
  await expect(page.getByText('Please complete your profile and settings first')).toBeVisible()

  await page.goto('/settings')
  await page.getByLabel('TRC20 wallet address').fill(walletOf(newcomer.email))
  await page.getByRole('button', { name: 'Save address' }).click()
  await expect(page.getByText('Profile updated successfully')).toBeVisible()
  await page.goto('/dashboard')
  await expect(page.getByText('Select a package and make your first deposit')).toBeVisible()

  await page.goto('/deposit')
  await expect(page.getByText('Sample address. Do not send money.')).toBeVisible()
  await page.getByRole('radio', { name: /VIP Package/ }).check()
  await page.getByLabel('Reference number').fill(reference)
  await page.locator('input[type=file]').setInputFiles({
    name: 'transfer.svg',
    mimeType: 'image/svg+xml',
    buffer: Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'),
  })
  await expect(page.getByText(/Use PNG, JPEG or WebP up to 5 MB/)).toBeVisible()
  await expect(page.getByLabel('Reference number')).toHaveValue(reference)
  await page
    .locator('input[type=file]')
    .setInputFiles({ name: 'transfer.png', mimeType: 'image/png', buffer: receiptPicture() })
  await expect(page.getByText('Receipt uploaded successfully').first()).toBeVisible()
  await page.getByRole('checkbox', { name: 'I understand' }).check()
  await page.getByRole('button', { name: 'Review deposit' }).click()
  const review = page.getByRole('dialog')
  await expect(review.getByText(reference)).toBeVisible()
  await review.getByRole('button', { name: `Submit ${packagePrice}` }).click()
  await expect(
    page.getByText('Deposit request submitted successfully! Admin will review and process your deposit.'),
  ).toBeVisible()

  await page.goto('/transactions')
  await expect(page.getByText('+$1,000.00').first()).toBeVisible()
  await expect(page.getByText('Pending').first()).toBeVisible()
  await page.goto('/dashboard')
  await expect(page.getByRole('region', { name: 'Latest transactions' })).toContainText('Pending')
  await page.context().close()
})

test('an administrator sees the receipt and approves; the referrer is credited at once', async ({
  browser,
}) => {
  const member = await openAs(browser, referrer)
  const before = await balance(member)

  const admin = await (await browser.newContext()).newPage()
  await signInAdministrator(admin)
  await admin.getByRole('link', { name: /^Deposits/ }).click()
  await admin.getByRole('searchbox').fill(newcomer.username)
  const row = admin.getByRole('row', { name: new RegExp(newcomer.username) })
  await row.getByRole('button', { name: `View the receipt of ${newcomer.username}` }).click()
  const picture = admin.getByRole('img', { name: `Receipt that ${newcomer.username} sent` })
  await expect.poll(() => picture.evaluate((img: HTMLImageElement) => img.naturalWidth)).toBeGreaterThan(0)
  await admin.keyboard.press('Escape')

  await row.getByRole('button', { name: `Approve the deposit of ${newcomer.username}` }).click()
  const dialog = admin.getByRole('dialog', { name: `Approve deposit of ${packagePrice}?` })
  await expect(dialog.getByRole('button', { name: 'Cancel' })).toBeFocused()
  await expect(dialog.getByText(reference)).toBeVisible()
  await dialog.getByRole('button', { name: `Approve ${packagePrice}` }).click()
  await expect(admin.getByText('Deposit approved successfully')).toBeVisible()
  await expect(admin.getByText('No deposits found')).toBeVisible()

  expect((await balance(member)) - before).toBe(owedToReferrer)
  await expect(member.getByRole('region', { name: 'Latest transactions' })).toContainText(newcomer.username)
  await member.getByRole('button', { name: 'Refresh' }).click()
  await expect(member.getByText('MLM Sync Complete')).toBeVisible()
  expect((await balance(member)) - before).toBe(owedToReferrer)
  await admin.getByRole('button', { name: 'Sign Out' }).click()
  await expect(admin).toHaveURL(/\/admin\/login$/)
  await expect(admin.getByText('You have been signed out successfully')).toBeVisible()
  await admin.context().close()
  await member.context().close()
})

test('the referrer asks for a withdrawal, the administrator approves, and every screen agrees', async ({
  browser,
}) => {
  const member = await openAs(browser, referrer)
  const before = await balance(member)
  await member.goto('/withdraw')
  await member.getByLabel('Amount').fill('99.99')
  await member.getByRole('button', { name: 'Review withdrawal' }).click()
  await expect(member.getByText('Minimum withdrawal amount is $100')).toBeVisible()
  await member.getByLabel('Amount').fill('99999')
  await member.getByRole('button', { name: 'Review withdrawal' }).click()
  await expect(member.getByText(/Insufficient balance. Available: \$/)).toBeVisible()
  await expect(member.getByLabel('Amount')).toHaveValue('99,999.00')
  await member.getByLabel('Amount').fill('100.25')
  await member.getByRole('button', { name: 'Review withdrawal' }).click()
  await member.getByRole('dialog').getByRole('button', { name: 'Request $100.25' }).click()
  await expect(
    member.getByText(
      'Withdrawal request submitted successfully! Admin will process your request within 24 hours.',
    ),
  ).toBeVisible()
  // Asked for is not paid: the balance stays, a part of it is reserved.
  expect(await balance(member)).toBe(before)

  const admin = await (await administratorBrowser(browser)).newPage()
  await admin.goto(`/admin/withdrawals?q=${referrer.username}`)
  const row = admin.getByRole('row', { name: /\$100\.25/ })
  await row.getByRole('button', { name: `Approve the withdrawal of ${referrer.username}` }).click()
  const dialog = admin.getByRole('dialog', { name: 'Approve withdrawal of $100.25?' })
  await expect(dialog.getByText(/does not send USDT/)).toBeVisible()
  await dialog.getByRole('button', { name: 'Approve $100.25' }).click()
  await expect(admin.getByText('Withdrawal approved successfully')).toBeVisible()

  expect(await balance(member)).toBe(before - 100_25)
  await member.goto('/transactions')
  await expect(member.getByText('−$100.25').first()).toBeVisible()
  const mail = await mailTo(referrer.email, /withdrawal/i)
  expect(mail.text + mail.html).toContain('$100.25')
  await admin.context().close()
  await member.context().close()
})
