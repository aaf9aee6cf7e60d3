import { randomBytes } from 'node:crypto'
import { expect, test, type Browser, type Page } from '@playwright/test'
import { checkEach, desk, dialog, phone, press, pressed, sent, type Opening } from '../looks'
import {
  askRest,
  createEarner,
  createMember,
  memberBrowser,
  requestDeposit,
  requestWithdrawal,
  send,
} from '../people'
import { receiptPicture } from '../receipt'
import { memberKey, memberSession, need } from '../stack'

// What members see only once they ask for it, or after a mistake: accessible, and within the window, at
// both widths and in both themes, as pages.spec.ts looks at the pages themselves.

// What cannot be pressed is said at once, not when the time of all is over.
test.use({ actionTimeout: 30_000 })
// All that is asked takes nearly three minutes where other suites run beside it.
test.describe.configure({ timeout: 540_000 })

const mara = () => ({
  email: need('DEMO_MEMBER_EMAIL'),
  password: need('DEMO_MEMBER_PASSWORD'),
})

const menus: Opening[] = [
  {
    name: 'Member navigation',
    path: '/bots',
    open: pressed('Menu', 'dialog', 'Navigation'),
    only: phone,
  },
  {
    name: 'Account menu',
    path: '/bots',
    open: pressed(/^Account: /, 'menu'),
    only: desk,
  },
  {
    name: 'More menu',
    path: '/bots',
    open: pressed('More', 'menu'),
    only: desk,
  },
  {
    name: 'View menu',
    path: '/dashboard',
    open: pressed('More views', 'menu'),
  },
  {
    name: 'Notifications',
    path: '/dashboard',
    open: pressed(/^Notifications/, 'dialog', 'Notifications'),
  },
  {
    name: 'Figure explanation',
    path: '/dashboard',
    open: pressed(/^About /, 'dialog'),
  },
  {
    name: 'Exact time',
    path: '/notifications',
    open: pressed(/ ago$/, 'dialog'),
  },
  {
    name: 'QR code',
    path: '/dashboard',
    open: async (page) => {
      await press(page, 'Show QR Code')
      const card = page.getByRole('region', { name: /Referral link|Invite/ })
      await expect(card.getByRole('img')).toBeVisible()
      return card
    },
  },
  { name: 'Share', path: '/dashboard', open: pressed('Share', 'dialog') },
  {
    name: 'Statement menu',
    path: '/transactions',
    open: pressed('Statement', 'menu'),
  },
  {
    name: 'Bonus details',
    path: '/transactions',
    anew: true,
    open: pressed(/^Details of .*bonus/i, 'dialog'),
  },
  {
    name: 'Team details',
    path: '/dashboard?view=advanced&tab=tree',
    anew: true,
    open: async (page) => {
      await page
        .getByRole('button', { name: /Erik Sand/ })
        .first()
        .click()
      const details = dialog(page, 'Erik Sand')
      await expect(details).toContainText(/Whole team\s*[1-9]/)
      return details
    },
  },
]

test(
  "a member's menus and details are accessible and fit the window",
  { tag: '@long' },
  async ({ browser }) => {
    const context = await memberBrowser(browser, mara())
    await checkEach(context, menus)
    await context.close()
  },
)

async function reviewDeposit(page: Page): Promise<void> {
  await press(page, /^Send another deposit/)
  await page.getByRole('radio', { name: /Other amount/ }).click()
  await page.getByLabel('Amount', { exact: true }).fill('300')
  await page.getByLabel('Reference number').fill(randomBytes(32).toString('hex'))
  const name = `${'transfer-of-the-first-of-march-'.repeat(3)}.png`
  const picture = { name, mimeType: 'image/png', buffer: receiptPicture() }
  await page.locator('input[type=file]').setInputFiles(picture)
  await expect(page.getByText('Receipt uploaded successfully').first()).toBeVisible()
  await page.getByRole('checkbox', { name: 'I understand' }).check()
  await press(page, 'Review deposit')
}

const money: Opening[] = [
  {
    name: 'Deposit with errors',
    path: '/deposit',
    open: sent('Review deposit', (page) => press(page, /^Send another deposit/)),
  },
  {
    name: 'Rest of a deposit without its reference',
    path: '/deposit',
    open: async (page) => {
      await press(page, 'Add reference')
      await expect(page.getByText('Enter the reference number')).toBeVisible()
      return page.getByRole('form', {
        name: 'Rest of the deposit of $7,500.00',
      })
    },
  },
  {
    name: 'Deposit review',
    path: '/deposit',
    open: async (page) => {
      await reviewDeposit(page)
      return dialog(page, 'Submit deposit of $300.00?')
    },
  },
  {
    name: 'Cancel deposit',
    path: '/deposit',
    open: pressed(/^Cancel deposit/, 'dialog', /^Cancel deposit of/),
  },
  {
    name: 'Withdrawal with an error',
    path: '/withdraw',
    open: async (page) => {
      await press(page, /^Request another withdrawal/)
      await page.getByLabel('Amount').fill('1')
      await press(page, 'Review withdrawal')
      await expect(page.getByLabel('Amount')).toHaveAttribute('aria-invalid', 'true')
      return page.getByRole('form', { name: 'Withdrawal request' })
    },
  },
  {
    name: 'Withdrawal review',
    path: '/withdraw',
    open: async (page) => {
      await press(page, /^Request another withdrawal/)
      await page.getByLabel('Amount').fill('100')
      await press(page, 'Review withdrawal')
      return dialog(page, 'Request withdrawal of $100.00?')
    },
  },
  {
    name: 'Cancel withdrawal',
    path: '/withdraw',
    open: pressed(/^Cancel withdrawal/, 'dialog', /^Cancel withdrawal of/),
  },
  {
    name: 'Deposit details',
    path: '/transactions',
    anew: true,
    open: pressed(/^Details of Deposit/, 'dialog', /^Deposit/),
  },
  {
    name: 'Cancel from the details',
    path: '/transactions',
    anew: true,
    open: async (page) => {
      await page
        .getByRole('button', { name: /^Details of Withdrawal/ })
        .first()
        .click()
      await press(page, 'Cancel withdrawal')
      return dialog(page, /^Cancel withdrawal of/)
    },
  },
]

const account: Opening[] = [
  {
    name: 'Unsubscribe',
    path: '/bots',
    open: pressed('Unsubscribe from Scout', 'dialog', /^Unsubscribe/),
  },
  {
    name: 'Subscribe with errors',
    path: '/bots',
    open: async (page) => {
      await press(page, 'Subscribe to Ranger')
      await press(page, 'Subscribe')
      await expect(page.getByText('Enter the MT5 server').first()).toBeVisible()
      return dialog(page, 'Subscribe to Ranger')
    },
  },
  {
    name: 'Two-step set-up',
    path: '/settings',
    open: async (page) => {
      await press(page, 'Set up two-step sign-in')
      await page.getByLabel('Device name').fill('My phone')
      await press(page, 'Continue')
      await expect(page.getByRole('img', { name: 'QR code for your authenticator app' })).toBeVisible()
      await page.getByLabel('Six-digit code').fill('000000')
      await press(page, 'Turn on')
      await expect(page.getByText(/did not match/)).toBeVisible()
      return page.locator('form').filter({ has: page.getByLabel('Six-digit code') })
    },
  },
  {
    name: 'Password with errors',
    path: '/settings',
    open: sent('Change password', (page) => page.getByLabel('New password', { exact: true }).fill('short')),
  },
  {
    name: 'Doubtful wallet',
    path: '/settings',
    open: async (page) => {
      await page.getByLabel('TRC20 wallet address').fill('T123')
      await expect(page.getByText(/This does not look like a TRC20 address/)).toBeVisible()
      return page.getByRole('form', { name: 'Wallet' })
    },
  },
  {
    name: 'Leave settings',
    path: '/settings',
    open: async (page) => {
      await page.getByLabel('TRC20 wallet address').fill('T123')
      await page.getByRole('banner').getByRole('link', { name: 'Profile' }).click()
      return dialog(page, 'Leave without saving?')
    },
  },
  {
    name: 'Profile with errors',
    path: '/profile',
    open: sent('Save profile', async (page) => {
      await page.getByLabel('Username').fill('')
      await page.getByLabel('Email').fill('')
    }),
  },
  {
    name: 'Fresh proof',
    path: '/settings',
    open: async (page) => {
      // As the server says where the last one is old.
      const body = JSON.stringify({
        code: 'reauthentication_needed',
        error: 'Sign in again.',
      })
      await page.route('**/functions/v1/download-data', (route) => route.fulfill({ status: 403, body }))
      await press(page, 'Export my data')
      await press(page, 'Continue')
      await expect(page.getByLabel('Your password')).toHaveAttribute('aria-invalid', 'true')
      return dialog(page, 'Confirm that it’s you')
    },
  },
]

async function closing(page: Page) {
  await press(page, 'Close my account')
  await expect(page.getByText('You have money here')).toBeVisible()
  return dialog(page, 'Close your account?')
}

/** A member with money in every state. */
async function withEverything(browser: Browser) {
  const [person, account] = await createEarner('asks')
  const { token } = account
  await requestDeposit(account, 2500)
  await askRest(account, await requestDeposit(account, 7500), '6000.00')
  await requestWithdrawal(account, 100)
  await send(token, 'POST', '/functions/v1/bot-subscription', {
    bot_name: 'Scout',
    action: 'subscribe',
    mt5_server: 'S'.repeat(128),
    mt5_login: '5'.repeat(64),
    mt5_password: 'harbour-7',
  })
  return { person, context: await memberBrowser(browser, person) }
}

test('what a member is asked is accessible and fits the window', { tag: '@long' }, async ({ browser }) => {
  const { person, context } = await withEverything(browser)
  await checkEach(context, money)
  await checkEach(context, account)
  const other = await memberSession(mara().email, mara().password)
  const link = new URLSearchParams({
    access_token: other.access_token,
    refresh_token: other.refresh_token as string,
    expires_in: '3600',
    token_type: 'bearer',
    type: 'magiclink',
  })
  await checkEach(context, [
    {
      name: 'Closing with money left',
      path: '/settings',
      open: closing,
    },
    {
      name: 'Link of another account',
      path: `/deposit#${link}`,
      open: (page) => Promise.resolve(page.getByRole('alertdialog')),
    },
    {
      name: 'Ended session',
      path: '/bots',
      open: async (page) => {
        await press(page, 'Unsubscribe from Scout')
        const kept = await page.evaluate((key) => localStorage.getItem(key) ?? '', memberKey)
        const { access_token: token } = JSON.parse(kept) as {
          access_token: string
        }
        await fetch(`${new URL(page.url()).origin}/auth/v1/logout?scope=local`, {
          method: 'POST',
          headers: {
            apikey: need('SUPABASE_ANON_KEY'),
            authorization: `Bearer ${token}`,
          },
        })
        await press(page, 'Unsubscribe')
        const again = dialog(page, /^Your session ended/)
        await again.getByLabel('Email').fill('')
        await again.getByRole('button', { name: 'Sign in' }).click()
        await expect(again.getByRole('group', { name: 'What to correct' })).toBeVisible()
        return again
      },
    },
  ])
  await context.close()
})

test('what a new member is told about wallets fits the window', { tag: '@long' }, async ({ browser }) => {
  const context = await memberBrowser(browser, await createMember('fresh'))
  await checkEach(context, [
    {
      name: 'TRC20 address',
      path: '/dashboard',
      open: pressed('What is a TRC20 address?', 'dialog'),
    },
    {
      name: 'No notifications',
      path: '/bots',
      open: pressed('Notifications', 'dialog', 'Notifications'),
    },
  ])
  await context.close()
})
