import { expect, test, type Page } from '@playwright/test'
import { untilAlive } from '../alive'
import { checkEach, desk, dialog, phone, press, pressed, sent, type Opening } from '../looks'
import { need } from '../stack'

// What visitors see only once they ask for it, or after a mistake, as member-dialogs.spec.ts looks at members'.

// What cannot be pressed is said at once, not when the time of all is over.
test.use({ actionTimeout: 30_000 })

/** As a sign-up leaves the tab, with names of full length. */
async function waitForMail(page: Page): Promise<void> {
  const account = {
    referrerId: need('DEMO_REFERRAL_CODE'),
    displayName: 'Ilse Brandt',
    username: 'i'.repeat(30),
    email: `${'i'.repeat(60)}@example.com`,
    createdAt: Date.now(),
  }
  await page.evaluate((kept) => sessionStorage.setItem('created-account', kept), JSON.stringify(account))
  await page.reload()
  await expect(page.getByRole('heading', { name: 'Check your email' })).toBeVisible()
}

const visitorOpenings: Opening[] = [
  { name: 'Navigation', path: '/', open: pressed('Menu', 'dialog', 'Navigation'), only: phone },
  { name: 'Theme menu', path: '/sign-in', open: pressed('Theme', 'menu'), only: desk },
  {
    name: 'Theme menu in the navigation',
    path: '/sign-in',
    only: phone,
    open: async (page) => {
      await press(page, 'Menu')
      return pressed('Theme', 'menu')(page)
    },
  },
  {
    name: 'Sign-up with errors',
    path: '/sign-up',
    open: sent('Create account', async (page) => {
      await page.getByLabel('Referral code').fill('nobody-by-this-name')
      await page.getByLabel('Username').fill('mara_l')
      await expect(page.getByText('Username already exists.').first()).toBeVisible()
      await page.getByLabel('Password', { exact: true }).fill('short')
    }),
  },
  { name: 'Sign-in with errors', path: '/sign-in', open: sent('Sign in', () => Promise.resolve()) },
  {
    name: 'Refused sign-in',
    path: '/sign-in',
    open: async (page) => {
      await page.getByLabel('Email').fill('nobody@example.com')
      await page.getByLabel('Password', { exact: true }).fill('not the one')
      await press(page, 'Sign in')
      await expect(page.getByText('Check your email and password.')).toBeVisible()
      return page.locator('form')
    },
  },
  {
    name: 'Forgotten password with an error',
    path: '/forgot-password',
    open: async (page) => {
      await page.getByLabel('Email').fill('nobody')
      await page.locator('form').getByRole('button').click()
      await expect(page.getByLabel('Email')).toHaveAttribute('aria-invalid', 'true')
      return page.locator('form')
    },
  },
  {
    name: 'New password waited for, with a wrong code',
    path: '/forgot-password',
    open: async (page) => {
      await untilAlive(page)
      await page.getByLabel('Email').fill('nobody@example.com')
      await press(page, 'Send link')
      await page.getByLabel('Six-digit code').fill('000000')
      await expect(page.getByText(/^That code did not match/)).toBeVisible()
      return page.locator('main')
    },
  },
  {
    name: 'Address of a sign-up changed',
    path: '/sign-up',
    open: async (page) => {
      await waitForMail(page)
      await press(page, 'Change address')
      await press(page, 'Send to this address')
      await expect(page.getByLabel('Username')).toHaveAttribute('aria-invalid', 'true')
      return page.locator('main')
    },
  },
  {
    name: 'Link opened somewhere else',
    path: '/sign-up',
    open: async (page) => {
      await waitForMail(page)
      await press(page, 'I opened the link somewhere else')
      return page.locator('main')
    },
  },
  {
    name: 'Leave question',
    path: '/sign-up',
    open: async (page) => {
      await untilAlive(page)
      await page.getByLabel('Full name').fill('Ilse Brandt')
      await page.locator('main').getByRole('link', { name: 'Sign in' }).click()
      return dialog(page, 'Leave without saving?')
    },
  },
  {
    name: 'Sign-in of an administrator with errors',
    path: '/admin/login',
    open: sent('Sign in', () => Promise.resolve()),
  },
]

test('what a visitor opens is accessible and fits the window', { tag: '@long' }, async ({ browser }) => {
  const context = await browser.newContext()
  await checkEach(context, visitorOpenings)
  await context.close()
})
