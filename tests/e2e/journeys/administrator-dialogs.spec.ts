import { randomBytes } from 'node:crypto'
import { expect, test } from '@playwright/test'
import { checkEach, desk, dialog, phone, press, pressed, sent, unreasoned, type Opening } from '../looks'
import { administratorBrowser } from '../people'
import { administratorSession } from '../stack'

// What administrators see only once they ask for it, or after a mistake; decision-dialogs.spec.ts has the decisions.

// What cannot be pressed is said at once, not when the time of all is over.
test.use({ actionTimeout: 30_000 })

const openings: Opening[] = [
  {
    name: 'Navigation of an administrator',
    path: '/admin/coverage',
    only: phone,
    open: pressed('Menu', 'dialog', 'Navigation'),
  },
  { name: 'Theme of an administrator', path: '/admin/coverage', anew: true, open: pressed('Theme', 'menu') },
  { name: 'Columns', path: '/admin/users', only: desk, open: pressed('Columns', 'menu') },
  { name: 'Density', path: '/admin/users', only: desk, open: pressed('Density', 'menu') },
  {
    name: 'Filter',
    path: '/admin/audit',
    anew: true,
    open: async (page) => {
      await page.getByRole('combobox', { name: 'Action' }).click()
      return page.getByRole('listbox')
    },
  },
  {
    name: 'Recorded act',
    path: '/admin/audit?action=deposit',
    open: async (page) => {
      await page
        .getByRole('button', { name: /^Deposit/ })
        .first()
        .click()
      return page.getByRole('dialog')
    },
  },
  {
    name: 'Rebuild counters',
    path: '/admin/alarms',
    open: unreasoned(pressed('Rebuild counters', 'dialog', 'Rebuild all counters?'), 'Rebuild counters'),
  },
  {
    name: 'Second step of an administrator',
    path: '/admin/settings',
    open: async (page) => {
      await press(page, 'Set up two-step sign-in')
      await page.getByLabel('Six-digit code').fill('000000')
      await press(page, 'Turn on')
      await expect(page.getByText(/^That code did not match/)).toBeVisible()
      return page.locator('form').filter({ has: page.getByLabel('Six-digit code') })
    },
  },
  {
    name: 'Password of an administrator with errors',
    path: '/admin/settings',
    open: sent('Change password', () => Promise.resolve()),
  },
  {
    name: 'Setting that is a number',
    path: '/admin/readiness',
    open: async (page) => {
      const row = page.getByRole('listitem').filter({ hasText: 'review.due_hours' })
      await row.getByRole('button', { name: /^Change/ }).click()
      await page.getByRole('dialog').getByRole('textbox').fill('many')
      await press(page, 'Save')
      await expect(page.getByRole('dialog').getByText('Enter a whole number.')).toBeVisible()
      return page.getByRole('dialog')
    },
  },
  {
    name: 'Setting that is a long text',
    path: '/admin/readiness',
    open: async (page) => {
      const row = page.getByRole('listitem').filter({ hasText: 'terms.text' })
      await row.getByRole('button', { name: /^Change/ }).click()
      return page.getByRole('dialog')
    },
  },
  {
    name: 'Accept real money',
    path: '/admin/readiness',
    open: async (page) => {
      // Nothing is missing, as far as this page knows: the stack itself stays as it is.
      await page.route('**/functions/v1/admin-settings', async (route) => {
        if (!route.request().postData()?.includes('"readiness"')) return route.fallback()
        const response = await route.fetch()
        await route.fulfill({
          response,
          body: (await response.text()).replace(/"ready": ?false/, '"ready":true'),
        })
      })
      await page.reload()
      const opened = await pressed('Accept real money', 'dialog', 'Accept real money?')(page)
      await opened.getByRole('button', { name: 'Accept real money' }).click()
      await expect(opened.getByText(/^Type .* to go on\.$/)).toBeVisible()
      return opened
    },
  },
  {
    name: 'New administrator with errors',
    path: '/admin/administrators',
    open: async (page) => {
      await press(page, 'New administrator')
      await press(page, 'Create account')
      await expect(page.getByRole('group', { name: 'What to correct' })).toBeVisible()
      return dialog(page, 'New administrator')
    },
  },
  {
    name: 'Roles',
    anew: true,
    path: '/admin/administrators',
    open: async (page) => {
      await press(page, 'New administrator')
      await page.getByRole('combobox', { name: 'Role' }).click()
      return page.getByRole('listbox')
    },
  },
]

test(
  'what an administrator opens is accessible and fits the window',
  { tag: '@long' },
  async ({ browser }) => {
    const context = await administratorBrowser(browser)
    await checkEach(context, openings)
    await context.close()
  },
)

test(
  "the acts on another administrator's account are accessible and fit",
  { tag: '@long' },
  async ({ browser }) => {
    const email = `${'asked-of-'.repeat(5)}${randomBytes(4).toString('hex')}@admins.example`
    const context = await administratorBrowser(browser)
    const path = '/admin/administrators'
    const change = pressed(`Change ${email}`, 'menu')
    const chosen =
      (entry: string): Opening['open'] =>
      async (page) => {
        await (await change(page)).getByRole('menuitem', { name: entry }).click()
        return page.getByRole('dialog')
      }
    await checkEach(context, [
      {
        name: 'Password that is shown once',
        path,
        open: async (page) => {
          await press(page, 'New administrator')
          await page.getByLabel('Full name').fill('Ida Away')
          await page.getByLabel('Email').fill(email)
          await press(page, 'Create account')
          const made = page.getByRole('status').filter({ hasText: `Password of ${email}` })
          await expect(made).toBeVisible()
          const password = (await made.locator('.font-mono').textContent()) ?? ''
          await administratorSession(email, password)
          return made
        },
      },
      { name: 'Acts on an account', path, anew: true, open: change },
      { name: 'Role of an account', path, open: chosen('Change role to Finance') },
      { name: 'New password for an account', path, open: chosen('Reset password') },
      { name: 'Deactivate an account', path, open: chosen('Deactivate') },
      { name: 'Sessions of an account', path, open: pressed(`1 session of ${email}`, 'dialog') },
    ])
    await context.close()
  },
)

test(
  'the warning before an idle session ends is accessible and fits',
  { tag: '@long' },
  async ({ browser }) => {
    const context = await administratorBrowser(browser)
    await context.clock.install()
    await checkEach(context, [
      {
        name: 'Idle warning',
        path: '/admin/coverage',
        open: async (page) => {
          // Who shows what it loaded counts the idle minutes too.
          await expect(page.getByRole('heading', { level: 2, name: 'Now', exact: true })).toBeVisible()
          await context.clock.fastForward('28:30')
          return dialog(page, 'Are you still there?')
        },
      },
    ])
    await context.close()
  },
)
