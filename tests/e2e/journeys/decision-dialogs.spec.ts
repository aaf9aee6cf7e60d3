import { randomBytes } from 'node:crypto'
import { expect, test, type Locator, type Page } from '@playwright/test'
import { walletOf } from '../../api/js/wallet.js'
import { checkAfter } from '../ledger'
import { checkEach, desk, dialog, press, pressed, unreasoned, type Opening } from '../looks'
import {
  administratorBrowser,
  askRest,
  createEarner,
  createMember,
  decideDeposit,
  financeToken,
  profileId,
  requestDeposit,
  requestWithdrawal,
  send,
  setWallet,
  signedIn,
} from '../people'
import { administratorSession, need } from '../stack'

// What is asked before money or a member is decided about, as member-dialogs.spec.ts looks at what members are asked.

// What cannot be pressed is said at once, not when the time of all is over.
test.use({ actionTimeout: 30_000 })

const finance = {
  email: need('DEMO_FINANCE_EMAIL'),
  password: need('DEMO_FINANCE_PASSWORD'),
}

/** A question beside the sheet or dialog that leads to it. */
function through(first: Opening['open'], button: string, name: string | RegExp): Opening['open'] {
  return async (page) => {
    await (await first(page)).getByRole('button', { name: button, exact: true }).click()
    return dialog(page, name)
  }
}

/** A member with requests in every state, a bot, and as long a name as there may be. */
async function prepared() {
  const [{ username }, account] = await createEarner('asked', { length: 30 })
  const { token, userId } = account
  // What stands against a payout.
  await setWallet(await signedIn(await createMember('shares')), walletOf(userId))
  const deposits: string[] = []
  for (const amount of [2500, 5000]) deposits.push(await requestDeposit(account, amount))
  await askRest(account, deposits[1] ?? '', '4000.00', randomBytes(32).toString('hex'))
  await send(await financeToken(), 'POST', '/functions/v1/admin-approve-withdrawal', {
    withdrawalId: await requestWithdrawal(account, 110),
    action: 'approve',
  })
  await requestWithdrawal(account, 120)
  await send(token, 'POST', '/functions/v1/bot-subscription', {
    bot_name: 'Scout',
    action: 'subscribe',
    mt5_server: 'S'.repeat(128),
    mt5_login: '5'.repeat(64),
    mt5_password: 'p'.repeat(256),
  })
  return { username, userId, profile: await profileId(account), deposits }
}

type Prepared = Awaited<ReturnType<typeof prepared>>

function deposits({ username, deposits: [first = ''] }: Prepared): Opening[] {
  const path = `/admin/deposits?q=${username}`
  const decided = `/admin/deposits?status=approved&q=${username}`
  const details = pressed(username, 'dialog', `Deposit of ${username}`)
  return [
    {
      name: 'Menu of a deposit',
      path,
      anew: true,
      open: pressed(`More about the deposit of ${username}`, 'menu'),
    },
    { name: 'Details of a deposit', path, open: details },
    {
      name: 'Receipt',
      path,
      open: async (page) => {
        const viewer = await through(details, 'View receipt', `Receipt of ${username}`)(page)
        await expect(viewer.getByRole('img')).toBeVisible()
        return viewer
      },
    },
    {
      name: 'Reject a deposit',
      path,
      open: pressed(`Reject the deposit of ${username}`, 'dialog', /^Reject deposit of/),
    },
    {
      name: 'Void a deposit',
      path: decided,
      open: unreasoned(through(details, 'Void this deposit', /^Void the deposit of/), 'Propose correction'),
    },
    {
      name: 'Ask for the rest',
      path,
      open: async (page) => {
        const opened = await through(details, 'Ask for the rest', /^Ask for the rest of/)(page)
        await opened.getByRole('button', { name: 'Ask for the rest' }).click()
        await expect(opened.getByText('Enter how much has arrived.')).toBeVisible()
        return opened
      },
    },
    {
      name: 'Amount that cannot be approved',
      path,
      open: async (page) => {
        await page
          .getByRole('button', { name: `Approve the deposit of ${username}` })
          .first()
          .click()
        const opened = dialog(page, /^Approve deposit of/)
        await opened.getByLabel(/^Amount that arrived/).fill('1600')
        await press(page, 'Approve $2,500.00')
        await expect(opened.getByRole('button', { name: 'Reject with both amounts' })).toBeVisible()
        return opened
      },
    },
    {
      // Somebody else was faster.
      name: 'Refused approval of a deposit',
      path,
      open: async (page) => {
        await page
          .getByRole('button', { name: `Approve the deposit of ${username}` })
          .first()
          .click()
        const opened = dialog(page, 'Approve deposit of $2,500.00?')
        await expect(opened).toBeVisible()
        await decideDeposit(first, {
          action: 'reject',
          reason: 'No such transfer',
        })
        await press(page, 'Approve $2,500.00')
        await expect(opened.getByText(/^Already rejected/)).toBeVisible()
        return opened
      },
    },
    {
      name: 'Approve a deposit',
      path,
      open: pressed(`Approve the deposit of ${username}`, 'dialog', /^Approve deposit of/),
    },
  ]
}

/** The server asks back why it was paid. */
async function warned(page: Page, opened: Locator, label: string, button: string | RegExp): Promise<Locator> {
  await opened.getByLabel(label).fill(randomBytes(32).toString('hex'))
  await opened.getByRole('button', { name: button }).click()
  await expect(opened.getByLabel('Why it was paid all the same')).toBeFocused()
  await opened.getByRole('button', { name: button }).click()
  await expect(opened.getByText('Give a reason.')).toBeVisible()
  return opened
}

function withdrawals({ username }: Prepared): Opening[] {
  const path = `/admin/withdrawals?q=${username}`
  const unpaid = `/admin/withdrawals?status=unpaid&q=${username}`
  const details = pressed(username, 'dialog', `Withdrawal of ${username}`)
  return [
    { name: 'Details of a withdrawal', path, open: details },
    {
      name: 'Approve a withdrawal',
      path,
      open: async (page) => {
        await press(page, `Approve the withdrawal of ${username}`)
        const opened = dialog(page, /^Approve withdrawal of/)
        await opened.getByLabel('Payout reference (optional)').fill('x'.repeat(201))
        await expect(opened.getByText('A payout reference has at most 200 characters.')).toBeVisible()
        return opened
      },
    },
    {
      name: 'Approve a withdrawal with a payout that is warned of',
      path,
      open: async (page) => {
        await press(page, `Approve the withdrawal of ${username}`)
        return warned(
          page,
          dialog(page, /^Approve withdrawal of/),
          'Payout reference (optional)',
          /^Approve \$/,
        )
      },
    },
    {
      name: 'Reject a withdrawal',
      path,
      open: pressed(`Reject the withdrawal of ${username}`, 'dialog', /^Reject withdrawal of/),
    },
    {
      name: 'Record a payout',
      path: unpaid,
      open: async (page) => {
        const opened = await through(details, 'Add payout reference', /^Add the payout reference/)(page)
        await opened.getByRole('button', { name: 'Add reference' }).click()
        await expect(opened.getByText('Enter the payout reference.')).toBeVisible()
        return opened
      },
    },
    {
      name: 'Record a payout that is warned of',
      path: unpaid,
      open: async (page) => {
        const opened = await through(details, 'Add payout reference', /^Add the payout reference/)(page)
        return warned(page, opened, 'Payout reference', 'Add reference')
      },
    },
    {
      name: 'Void a withdrawal',
      path: unpaid,
      open: through(details, 'Void this withdrawal', /^Void the withdrawal of/),
    },
  ]
}

function members({ username, profile }: Prepared): Opening[] {
  const path = `/admin/users?user=${profile}`
  const sheet: Opening['open'] = (page) => Promise.resolve(dialog(page, username))
  return [
    {
      name: 'A member',
      path,
      open: async (page) => {
        await expect(dialog(page, username).getByLabel('Notes')).toBeVisible()
        return sheet(page)
      },
    },
    {
      name: 'Suspend a member',
      path,
      open: unreasoned(through(sheet, 'Suspend', /^Suspend /), 'Suspend'),
    },
    {
      name: 'Set a member pending',
      path,
      open: through(sheet, 'Set pending', /^Set pending/),
    },
    {
      name: 'Second step of a member',
      path,
      open: through(sheet, 'Remove second step', /^Remove the second/),
    },
    {
      name: 'Set a package',
      path,
      open: async (page) => {
        const opened = await through(sheet, 'Set the package', /^Set the package of/)(page)
        await opened.getByRole('button', { name: 'Propose correction' }).click()
        await expect(opened.getByText('Choose a package.')).toBeVisible()
        return opened
      },
    },
    {
      name: 'Packages to set',
      anew: true,
      path,
      open: async (page) => {
        const opened = await through(sheet, 'Set the package', /^Set the package of/)(page)
        await opened.getByRole('combobox', { name: 'New package' }).click()
        return page.getByRole('listbox')
      },
    },
    {
      name: 'Suspend a bot',
      path: `/admin/bots?q=${username}`,
      open: pressed(`Suspend Scout of ${username}`, 'dialog', 'Suspend Scout?'),
    },
    {
      name: 'Password of a bot',
      path: `/admin/bots?q=${username}`,
      only: desk,
      open: async (page) => {
        await press(page, `Show the MT5 password of ${username}`)
        await expect(page.getByText(/^p{256}$/)).toBeVisible()
        return page.locator('main')
      },
    },
  ]
}

test('what decides about money is accessible and fits the window', { tag: '@long' }, async ({ browser }) => {
  const member = await prepared()
  const context = await administratorBrowser(browser)
  await checkEach(context, [...deposits(member), ...withdrawals(member)])
  await context.close()
})

test('what is known of members is accessible and fits the window', { tag: '@long' }, async ({ browser }) => {
  const member = await prepared()
  const context = await administratorBrowser(browser)
  await checkEach(context, members(member))
  await context.close()
})

test('the questions about a correction are accessible and fit', { tag: '@long' }, async ({ browser }) => {
  const { profile, username } = await prepared()
  const owner = await administratorSession(need('DEMO_ADMIN_EMAIL'), need('DEMO_ADMIN_PASSWORD'))
  await send(owner.access_token, 'POST', '/functions/v1/admin-propose-correction', {
    kind: 'set_package',
    targetId: profile,
    value: '500.00',
    reason: `${'A reason without a space-'.replaceAll(' ', '-').repeat(8)} and more words.`,
  })
  const context = await administratorBrowser(browser, {}, finance)
  const own = (page: Page) => page.getByRole('listitem').filter({ hasText: username })
  await checkEach(
    context,
    ['Confirm', 'Discard'].map((act) => ({
      name: `${act} a correction`,
      path: '/admin/corrections',
      open: async (page) => {
        await own(page)
          .getByRole('button', { name: new RegExp(`^${act}`) })
          .click()
        return page.getByRole('dialog')
      },
    })),
  )
  await context.close()
})

// The books are wrong meanwhile, for whoever looks at them.
test('what an alarm opens is accessible and fits the window', { tag: '@alone' }, async ({ browser }) => {
  const { username, userId } = await prepared()
  const miscount = (by: string) =>
    checkAfter(`update private.totals set reentry_amount = reentry_amount ${by} where user_id = '${userId}'`)
  miscount('+ 1')
  const context = await administratorBrowser(browser)
  try {
    await checkEach(context, [
      {
        name: 'Approval stopped by an alarm',
        path: `/admin/withdrawals?q=${username}`,
        open: async (page) => {
          await press(page, `Approve the withdrawal of ${username}`)
          await press(page, 'Approve $120.00')
          // The link of the rejection: the dialog has another one from the start.
          await expect(page.getByRole('alert').getByRole('link', { name: 'See alarms' })).toBeVisible()
          return page.getByRole('dialog')
        },
      },
      {
        name: 'Acknowledge an alarm',
        path: '/admin/alarms',
        open: async (page) => {
          const open = page.getByRole('list', { name: 'Open alarms' }).getByRole('listitem')
          await open
            .filter({ hasText: username })
            .getByRole('button', { name: /^Acknowledge/ })
            .click()
          return page.getByRole('dialog')
        },
      },
    ])
  } finally {
    miscount('- 1')
    await context.close()
  }
})
