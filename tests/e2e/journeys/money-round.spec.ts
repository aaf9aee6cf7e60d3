import { randomBytes } from 'node:crypto'
import { expect, test, type Browser, type Page } from '@playwright/test'
import { linkOf, mailTo } from '../mail'
import { createMember, requestDeposit, send, setWallet, signedIn } from '../people'
import { receiptPicture } from '../receipt'
import { administratorSession, memberSession, need, origin } from '../stack'

// One member's money goes all the way round: joined by a link, paid for a package, approved by an administrator,
// earned by the sponsor, asked for, approved, and equal to the cent on every screen.
test.describe.configure({ mode: 'serial' })

const tag = Date.now().toString(36)
// As long a username as there may be: the pages that are opened afterwards must have room for it.
const newcomer = {
  name: 'Ilse Brandt',
  username: `ilse_${tag}_`.padEnd(30, 'brandt_'),
  email: `ilse.${tag}@example.com`,
}
const password = 'Quay-and-lantern-22'
const wallet = 'TJRabPrwbZy45sbavfcjinPJC18kjpRTv8'
const reference = randomBytes(32).toString('hex')
const packagePrice = '$1,000.00'

async function freshPage(browser: Browser): Promise<Page> {
  const context = await browser.newContext({ baseURL: origin, locale: 'en-GB', timezoneId: 'Europe/Berlin' })
  return context.newPage()
}

async function signIn(page: Page, email: string, secret: string): Promise<void> {
  await page.goto('/sign-in')
  await page.getByLabel('Email').fill(email)
  await page.getByLabel('Password', { exact: true }).fill(secret)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await expect(page).toHaveURL(/\/dashboard/)
}

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

interface Child {
  username: string
  package_value: number
}

/**
 * What the sponsor (Premium, 40%) must earn once the newcomer's $1,000 count, in cents, worked out from the
 * plan: 5% of the package, and 40% of the pair's volume if the newcomer completes a pair.
 */
async function owedToSponsor(): Promise<number> {
  const { access_token: token } = await memberSession(need('DEMO_MEMBER_EMAIL'), need('DEMO_MEMBER_PASSWORD'))
  const answer = await fetch(
    `${origin}/rest/v1/profiles?select=username,package_value&referrer_id=eq.${need('DEMO_REFERRAL_CODE')}&order=created_at.asc`,
    { headers: { apikey: need('SUPABASE_ANON_KEY'), authorization: `Bearer ${token}` } },
  )
  const children = (await answer.json()) as Child[]
  const place = children.findIndex((child) => child.username === newcomer.username)
  const partner = place % 2 === 1 ? children[place - 1] : undefined
  const pairing = partner && partner.package_value > 0 ? (1000_00 + partner.package_value * 100) * 0.4 : 0
  return 50_00 + pairing
}

test('a visitor joins by a referral link and confirms by mail', async ({ page }) => {
  await page.goto(`/sign-up?ref=${need('DEMO_REFERRAL_CODE')}`)
  await expect(page.getByText('@mara_l')).toBeVisible()
  await page.getByLabel('Full name').fill(newcomer.name)
  await page.getByLabel('Username').fill(newcomer.username)
  await page.getByLabel('Email').fill(newcomer.email)
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByRole('checkbox').check()
  await page.getByRole('button', { name: 'Create account' }).click()
  await expect(page.getByRole('heading', { name: 'Check your email' })).toBeVisible()
  await page.goto(linkOf(await mailTo(newcomer.email, /confirm/i)))
  await expect(page.getByRole('heading', { name: 'Your Command Center' })).toBeVisible()
  await expect(page.getByText('Add your TRC-20 wallet address for withdrawals')).toBeVisible()
})

test('the member completes the account and sends a deposit', async ({ page }) => {
  await signIn(page, newcomer.email, password)
  await page.goto('/deposit')
  await expect(page.getByText('Please complete your profile and settings first')).toBeVisible()

  await page.goto('/settings')
  await page.getByLabel('TRC20 wallet address').fill(wallet)
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
})

test('an administrator sees the receipt and approves; the sponsor is credited at once', async ({
  browser,
}) => {
  const sponsor = await freshPage(browser)
  await signIn(sponsor, need('DEMO_MEMBER_EMAIL'), need('DEMO_MEMBER_PASSWORD'))
  const before = await balance(sponsor)

  const admin = await freshPage(browser)
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

  expect((await balance(sponsor)) - before).toBe(await owedToSponsor())
  await expect(sponsor.getByRole('region', { name: 'Latest transactions' })).toContainText(newcomer.username)
  await sponsor.getByRole('button', { name: 'Refresh' }).click()
  await expect(sponsor.getByText('MLM Sync Complete')).toBeVisible()
  expect((await balance(sponsor)) - before).toBe(await owedToSponsor())
  await admin.context().close()
  await sponsor.context().close()
})

test('a deposit that was decided elsewhere says so and changes nothing', async ({ browser }) => {
  const person = await createMember('twice')
  const account = await signedIn(person)
  await setWallet(account)
  const depositId = await requestDeposit(account, 100)
  const admin = await freshPage(browser)
  await signInAdministrator(admin)
  await admin.goto('/admin/deposits')
  await admin.getByRole('searchbox').fill(person.username)
  await admin.getByRole('button', { name: `Reject the deposit of ${person.username}` }).click()
  const dialog = admin.getByRole('dialog', { name: /Reject deposit of/ })
  await dialog.getByLabel('Rejection Reason').fill('Transaction not found')

  const elsewhere = await administratorSession(need('DEMO_FINANCE_EMAIL'), need('DEMO_FINANCE_PASSWORD'))
  await send(elsewhere.access_token, 'POST', '/functions/v1/admin-approve-deposit', {
    depositId,
    action: 'reject',
    reason: 'Sent twice',
  })

  await dialog.getByRole('button', { name: /^Reject \$/ }).click()
  await expect(dialog.getByText(/Already rejected by Elin Dahl/)).toBeVisible()
  await expect(dialog.getByText(/Sent twice/)).toBeVisible()
  await expect(dialog.getByRole('button', { name: 'Close' }).last()).toBeVisible()
  await admin.context().close()
})

test('the sponsor asks for a withdrawal, the administrator approves, and every screen agrees', async ({
  browser,
}) => {
  const sponsor = await freshPage(browser)
  await signIn(sponsor, need('DEMO_MEMBER_EMAIL'), need('DEMO_MEMBER_PASSWORD'))
  const before = await balance(sponsor)
  await sponsor.goto('/withdraw')
  await sponsor.getByLabel('Amount').fill('99.99')
  await sponsor.getByRole('button', { name: 'Review withdrawal' }).click()
  await expect(sponsor.getByText('Minimum withdrawal amount is $100')).toBeVisible()
  await sponsor.getByLabel('Amount').fill('99999')
  await sponsor.getByRole('button', { name: 'Review withdrawal' }).click()
  await expect(sponsor.getByText(/Insufficient balance. Available: \$/)).toBeVisible()
  await expect(sponsor.getByLabel('Amount')).toHaveValue('99,999.00')
  await sponsor.getByLabel('Amount').fill('100.25')
  await sponsor.getByRole('button', { name: 'Review withdrawal' }).click()
  await sponsor.getByRole('dialog').getByRole('button', { name: 'Request $100.25' }).click()
  await expect(
    sponsor.getByText(
      'Withdrawal request submitted successfully! Admin will process your request within 24 hours.',
    ),
  ).toBeVisible()
  // Asked for is not paid: the balance stays, a part of it is reserved.
  expect(await balance(sponsor)).toBe(before)

  const admin = await freshPage(browser)
  await signInAdministrator(admin)
  await admin.goto('/admin/withdrawals')
  const row = admin.getByRole('row', { name: /mara_l.*\$100\.25/ })
  await row.getByRole('button', { name: 'Approve the withdrawal of mara_l' }).click()
  const dialog = admin.getByRole('dialog', { name: 'Approve withdrawal of $100.25?' })
  await expect(dialog.getByText(/does not send USDT/)).toBeVisible()
  await dialog.getByRole('button', { name: 'Approve $100.25' }).click()
  await expect(admin.getByText('Withdrawal approved successfully')).toBeVisible()

  expect(await balance(sponsor)).toBe(before - 100_25)
  await sponsor.goto('/transactions')
  await expect(sponsor.getByText('−$100.25').first()).toBeVisible()
  const mail = await mailTo(need('DEMO_MEMBER_EMAIL'), /withdrawal/i)
  expect(mail.text + mail.html).toContain('$100.25')
  await admin.context().close()
  await sponsor.context().close()
})

test('the administrators dashboard counts what the database counts', async ({ browser }) => {
  const { access_token: token } = await administratorSession(
    need('DEMO_ADMIN_EMAIL'),
    need('DEMO_ADMIN_PASSWORD'),
  )
  const answer = await fetch(`${origin}/rest/v1/rpc/get_admin_dashboard_stats`, {
    method: 'POST',
    headers: { apikey: need('SUPABASE_ANON_KEY'), authorization: `Bearer ${token}` },
  })
  const [stats] = (await answer.json()) as Record<string, number>[]
  const admin = await freshPage(browser)
  await signInAdministrator(admin)
  const panel = admin.getByRole('tabpanel')
  await expect(panel).toContainText(`Total users${stats?.total_users}`)
  await expect(panel).toContainText(`Pending deposits${stats?.pending_deposits}`)
  await admin.getByRole('tab', { name: 'Financial' }).click()
  const deposits = (stats?.total_deposits ?? 0).toLocaleString('en-US', { minimumFractionDigits: 2 })
  await expect(panel).toContainText(`Total deposits$${deposits}`)
  await admin.getByRole('button', { name: 'Sign Out' }).click()
  await expect(admin).toHaveURL(/\/admin\/login$/)
  await expect(admin.getByText('You have been signed out successfully')).toBeVisible()
  await admin.context().close()
})
