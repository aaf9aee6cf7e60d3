import { randomBytes } from 'node:crypto'
import { expect, test, type Page } from '@playwright/test'
import { walletOf } from '../../api/js/wallet.js'
import { violations } from '../accessibility'
import { filled } from '../filled'
import { mailTo, openLink } from '../mail'
import {
  codeOf,
  createMember,
  memberBrowser,
  openAs,
  openUnproved,
  provePassword,
  requestDeposit,
  send,
  setWallet,
  signedIn,
  type Person,
} from '../people'
import { receiptPicture } from '../receipt'
import { memberKey } from '../stack'

// What members do with their own account, each error with its text and each act with a way back.
const wallet = walletOf('member-account')

async function saveWallet(page: Page): Promise<void> {
  await page.goto('/settings')
  await page.getByLabel('TRC20 wallet address').fill(wallet)
  await page.getByRole('button', { name: 'Save address' }).click()
  await expect(page.getByText('Profile updated successfully')).toBeVisible()
}

test('a doubtful wallet address gets a warning, is stored, and can be corrected', async ({ browser }) => {
  const page = await openAs(browser, await createMember('wally'))
  await page.goto('/settings')
  await expect(page.getByLabel('TRC20 wallet address')).toHaveValue('')
  expect(await filled(page)).toEqual(['Save address'])
  await page.getByLabel('TRC20 wallet address').fill('T123')
  await expect(page.getByText(/This does not look like a TRC20 address/)).toBeVisible()
  await page.getByRole('button', { name: 'Save address' }).click()
  await expect(page.getByText('Profile updated successfully')).toBeVisible()
  await saveWallet(page)
  await expect(page.getByText(/This does not look like a TRC20 address/)).toBeHidden()
  // Saved as it stands: the page asks for one thing at a time.
  expect(await filled(page)).toEqual([])
  await page.getByRole('button', { name: 'Set up two-step sign-in' }).click()
  expect(await filled(page)).toEqual(['Continue'])
  await page.context().close()
})

test('on a phone a tap on Save address meets it: it stays where it is when the field loses the focus', async ({
  browser,
}) => {
  const context = await memberBrowser(browser, await createMember('wally'), {
    viewport: { width: 390, height: 844 },
    hasTouch: true,
  })
  const page = await context.newPage()
  await page.goto('/settings')
  const field = page.getByLabel('TRC20 wallet address')
  const save = page.getByRole('button', { name: 'Save address' })
  await field.fill(wallet)
  const typing = await save.boundingBox()
  await field.blur()
  await expect(page.getByText(wallet.replaceAll(/.{4}/g, '$& '))).toBeVisible()
  expect(await save.boundingBox()).toEqual(typing)
  await field.focus()
  await save.tap()
  await expect(page.getByText('Profile updated successfully')).toBeVisible()
  await page.getByRole('status').getByRole('link', { name: 'Go to deposit' }).tap()
  await expect(page.getByRole('heading', { name: 'Choose a package' })).toBeVisible()
  await context.close()
})

test('a new wallet address asks for the password over the form, and goes on in the same session', async ({
  browser,
}) => {
  const person = await createMember('wanda')
  await setWallet(await signedIn(person), wallet)
  const page = await openUnproved(browser, person)
  await page.goto('/settings')
  const field = page.getByLabel('TRC20 wallet address')
  await expect(field).toHaveValue(wallet)
  const session = () => page.evaluate((key) => localStorage.getItem(key), memberKey)
  const before = await session()
  await field.fill('T123')
  await page.getByRole('button', { name: 'Save address' }).click()
  const proof = page.getByRole('dialog', { name: 'Confirm that it’s you' })
  await expect(proof.getByLabel('Your password')).toBeFocused()
  await proof.getByRole('button', { name: 'Continue' }).click()
  await expect(proof.getByText('Enter your password')).toBeVisible()
  expect(await violations(page)).toEqual([])
  await page.keyboard.press('Escape')
  await expect(proof).toBeHidden()
  await expect(field).toHaveValue('T123')
  await expect(page.getByRole('button', { name: 'Save address' })).toBeFocused()

  await page.keyboard.press('Enter')
  await provePassword(page, 'not the one')
  await expect(proof.getByText('Wrong password')).toBeVisible()
  await provePassword(page, person.password)
  await expect(page.getByText('Profile updated successfully')).toBeVisible()
  expect(await session()).toBe(before)
  await page.context().close()
})

test('a username that is taken is rejected with its text; a free one is saved', async ({ browser }) => {
  const person = await createMember('nia')
  const page = await openAs(browser, person)
  await page.goto('/profile')
  await expect(page.getByLabel('Username')).toHaveValue(person.username)
  await page.getByLabel('Username').fill('mara_l')
  await expect(
    page.getByText('Username already exists. Please choose a different username.').first(),
  ).toBeVisible()
  await page.getByLabel('Username').fill('')
  await page.getByRole('button', { name: 'Save profile' }).click()
  await expect(page.getByText('Please fill in all required fields').first()).toBeVisible()
  await page.getByLabel('Username').fill(`${person.username}_x`)
  await expect(page.getByText('Available')).toBeVisible()
  await page.getByRole('button', { name: 'Save profile' }).click()
  await expect(page.getByText('Profile updated successfully')).toBeVisible()
  await page.context().close()
})

test('a deposit is sent once, waits in sight, and is cancelled by its member', async ({ browser }) => {
  const person = await createMember('dora')
  const page = await openAs(browser, person)
  await saveWallet(page)
  await page.goto('/deposit')
  const named = `Ilse Brandt (${person.username})`
  await expect(page.getByText(`This deposit is for ${named}`)).toBeVisible()
  await page.getByRole('button', { name: 'Review deposit' }).click()
  await expect(page.getByText('Choose a package', { exact: true }).last()).toBeVisible()
  await expect(page.getByRole('group', { name: 'What to correct' })).toBeFocused()
  await page.getByRole('radio', { name: /Standard/ }).click()
  await page.getByLabel('Reference number').fill(randomBytes(32).toString('hex'))
  await page
    .locator('input[type=file]')
    .setInputFiles({ name: 'transfer.png', mimeType: 'image/png', buffer: receiptPicture() })
  await expect(page.getByText('Receipt uploaded successfully').first()).toBeVisible()
  await page.getByRole('checkbox', { name: 'I understand' }).check()
  await page.getByRole('button', { name: 'Review deposit' }).click()
  await expect(page.getByRole('dialog').getByText(named)).toBeVisible()
  await page.getByRole('dialog').getByRole('button', { name: 'Submit $250.00' }).dblclick()
  await expect(page.getByText(/Deposit request submitted successfully!/)).toBeVisible()
  const waiting = page.getByRole('region', { name: 'Waiting for review' })
  await expect(waiting.getByRole('article')).toHaveCount(1)
  await waiting.getByRole('button', { name: 'Cancel deposit of $250.00' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel deposit' }).click()
  await expect(page.getByText('Deposit cancelled', { exact: true })).toBeVisible()
  await expect(waiting).toBeHidden()
  await page.goto('/transactions?status=rejected')
  await page.getByRole('button', { name: /Details of Deposit/ }).click()
  await expect(page.getByText('You cancelled this deposit of $250.00.')).toBeVisible()
  await page.context().close()
})

test('the days of the history are UTC days and say so', async ({ browser }) => {
  const person = await createMember('dagny')
  const account = await signedIn(person)
  await setWallet(account)
  await requestDeposit(account, 100)
  const [row] = await send<{ created_at: string }[]>(
    account.token,
    'GET',
    '/rest/v1/deposits?select=created_at',
  )
  const made = new Date(row?.created_at ?? '')
  const page = await openAs(browser, person)
  await page.goto('/transactions')
  await page.getByLabel('From, UTC').fill(made.toISOString().slice(0, 10))
  await page.getByLabel('To, UTC').fill(made.toISOString().slice(0, 10))
  await expect(page.getByText('1 transaction, all shown')).toBeVisible()
  const next = new Date(made.getTime() + 24 * 60 * 60 * 1000).toISOString().slice(0, 10)
  await page.goto(`/transactions?from=${next}`)
  await expect(page.getByText('No transactions found')).toBeVisible()
  await page.context().close()
})

test('a password is changed only by who knows the present one', async ({ browser }) => {
  const person = await createMember('pia')
  const page = await openAs(browser, person)
  const attempt = async (current: string, next: string, again: string) => {
    await page.getByLabel('Current password').fill(current)
    await page.getByLabel('New password', { exact: true }).fill(next)
    await page.getByLabel('Confirm new password').fill(again)
    await page.getByRole('button', { name: 'Change password' }).click()
  }
  await page.goto('/settings')
  await page.getByRole('button', { name: 'Change password' }).click()
  const summary = page.getByRole('group', { name: 'What to correct' })
  await expect(summary).toBeFocused()
  await expect(summary).toContainText('Please correct 3 fields.')
  await expect(summary.getByRole('listitem')).toHaveText(['All fields are required'])
  await summary.getByRole('button', { name: 'All fields are required' }).click()
  await expect(page.getByLabel('Current password')).toBeFocused()
  await attempt(person.password, 'Another-quay-1', 'Another-quay-2')
  await expect(page.getByText('Password mismatch')).toBeVisible()
  await attempt(person.password, 'short', 'short')
  await expect(page.getByText('Password too short')).toBeVisible()
  await attempt(person.password, person.password, person.password)
  await expect(page.getByText('Same password')).toBeVisible()
  await attempt('not the one', 'Another-quay-1', 'Another-quay-1')
  await expect(page.getByText('Wrong password')).toBeVisible()
  await attempt(person.password, 'Another-quay-1', 'Another-quay-1')
  await expect(page.getByText('Password updated successfully')).toBeVisible()
  await page.context().close()
})

async function setUpDevice(page: Page): Promise<string> {
  await page.goto('/settings')
  const devices = page.getByRole('group', { name: 'Devices' })
  await page.getByRole('button', { name: 'Set up two-step sign-in' }).click()
  await expect(devices).toBeFocused()
  await page.getByLabel('Device name').fill('My phone')
  await page.getByRole('button', { name: 'Continue' }).click()
  const secret = (await page.getByText(/^([A-Z2-7]{4} ){3,}/).textContent()) ?? ''
  await expect(devices).toBeFocused()
  await page.getByLabel('Six-digit code').fill(await codeOf(secret, -1))
  await page.getByRole('button', { name: 'Turn on' }).click()
  await expect(page.getByText(/Add a second device: there are no recovery codes/).first()).toBeVisible()
  await expect(devices).toBeFocused()
  return secret
}

async function signInWithCode(page: Page, person: Person, secret: string): Promise<void> {
  await page.goto('/sign-in')
  await page.getByLabel('Email').fill(person.email)
  await page.getByLabel('Password', { exact: true }).fill(person.password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByLabel('Six-digit code').fill(await codeOf(secret))
  await expect(page).toHaveURL(/\/dashboard/)
}

test('who has just given password and code closes the account without giving them again', async ({
  browser,
}) => {
  const person = await createMember('tage')
  const page = await openAs(browser, person)
  await setUpDevice(page)
  await page.getByRole('button', { name: 'Close my account' }).click()
  const dialog = page.getByRole('dialog', { name: 'Close your account?' })
  await dialog.getByRole('button', { name: 'Close account' }).click()
  await expect(page).toHaveURL(/\/sign-in/)
  await expect(page.getByText(/^Your account is closed\./)).toBeVisible()
  await page.context().close()
})

test('two-step sign-in is set up, asked for, and removed with a code', async ({ browser }) => {
  const person = await createMember('tove')
  const page = await openAs(browser, person)
  const secret = await setUpDevice(page)
  await page.context().close()

  const context = await browser.newContext()
  const again = await context.newPage()
  await signInWithCode(again, person, secret)
  await again.goto('/settings')
  await again.getByRole('button', { name: 'Remove My phone' }).click()
  await again.getByRole('button', { name: 'Remove device' }).click()
  await expect(again.getByText('Device removed')).toBeVisible()
  await expect(again.getByRole('button', { name: 'Set up two-step sign-in' })).toBeVisible()
  await context.close()
})

test('a device of today counts only beside the password: both are asked for over the form', async ({
  browser,
}) => {
  const person = await createMember('tova')
  const account = await signedIn(person)
  await setWallet(account)
  const { id, totp } = await send<{ id: string; totp: { secret: string } }>(
    account.token,
    'POST',
    '/auth/v1/factors',
    { factor_type: 'totp', friendly_name: 'My phone' },
  )
  const factor = `/auth/v1/factors/${id}`
  const challenge = await send<{ id: string }>(account.token, 'POST', `${factor}/challenge`, {})
  const first = { challenge_id: challenge.id, code: await codeOf(totp.secret, -1) }
  await send(account.token, 'POST', `${factor}/verify`, first)

  const page = await openUnproved(browser, person)
  await page.goto('/settings')
  await page.getByLabel('Six-digit code').fill(await codeOf(totp.secret))
  await page.getByLabel('TRC20 wallet address').fill('T123')
  await page.getByRole('button', { name: 'Save address' }).click()
  const proof = page.getByRole('dialog', { name: 'Confirm that it’s you' })
  await proof.getByLabel('Your password').fill('not the one')
  await proof.getByLabel('Six-digit code').fill('000000')
  await proof.getByRole('button', { name: 'Continue' }).click()
  await expect(proof.getByText('Wrong password')).toBeVisible()
  await proof.getByLabel('Your password').fill(person.password)
  await proof.getByLabel('Six-digit code').fill(await codeOf(totp.secret, 1))
  await proof.getByRole('button', { name: 'Continue' }).click()
  await expect(page.getByText('Profile updated successfully')).toBeVisible()
  // The one that set up the device, and this page's.
  await expect(page.getByRole('list', { name: 'Sessions' }).getByRole('listitem')).toHaveCount(2)
  await page.context().close()
})

test('a two-step set-up that a reload interrupted is begun again under the same name', async ({
  browser,
}) => {
  const page = await openAs(browser, await createMember('tula'))
  await page.goto('/settings')
  await page.getByRole('button', { name: 'Set up two-step sign-in' }).click()
  await page.getByLabel('Device name').fill('My phone')
  await page.getByRole('button', { name: 'Continue' }).click()
  await expect(page.getByLabel('Six-digit code')).toBeVisible()
  await setUpDevice(page)
  await expect(page.getByRole('button', { name: 'Remove My phone' })).toHaveCount(1)
  await page.context().close()
})

test('a code that could not be verified is stored and sent again, and is not called wrong', async ({
  browser,
}) => {
  const person = await createMember('tilda')
  const page = await openAs(browser, person)
  const secret = await setUpDevice(page)
  await page.context().close()

  const context = await browser.newContext()
  const again = await context.newPage()
  // The list of devices does not come, then the response to the code does not.
  await again.route('**/auth/v1/user', (route) => route.abort())
  await again.goto('/sign-in')
  await again.getByLabel('Email').fill(person.email)
  await again.getByLabel('Password', { exact: true }).fill(person.password)
  await again.getByRole('button', { name: 'Sign in' }).click()
  await again.getByLabel('Six-digit code').fill(await codeOf(secret))
  await expect(again.getByText('Your devices did not load.')).toBeVisible()
  await expect(again.getByText(/did not match/)).toBeHidden()
  await again.unroute('**/auth/v1/user')
  await again.route('**/factors/*/verify', (route) => route.abort())
  await again.getByRole('button', { name: 'Retry' }).click()
  await expect(
    again.getByText('We couldn’t reach the server. Check your connection and try again.'),
  ).toBeVisible()
  await again.unroute('**/factors/*/verify')
  await again.getByRole('button', { name: 'Sign in' }).click()
  await expect(again).toHaveURL(/\/dashboard/)
  await context.close()
})

test('a bot is subscribed to with an MT5 account, and its password erased again', async ({ browser }) => {
  const page = await openAs(browser, await createMember('bo'))
  await page.goto('/bots')
  await page.getByRole('button', { name: 'Subscribe to Scout' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: 'Subscribe', exact: true }).click()
  await expect(dialog.getByText('Enter the MT5 server').first()).toBeVisible()
  await dialog.getByLabel('MT5 server').fill('Demo-Server-3')
  await dialog.getByLabel('MT5 login').fill('500123')
  await dialog.getByLabel('MT5 password', { exact: true }).fill('harbour-7')
  await dialog.getByRole('button', { name: 'Subscribe', exact: true }).click()
  await expect(page.getByText('Successfully subscribed to Scout. Admin has been notified.')).toBeVisible()
  await page.getByRole('button', { name: 'Unsubscribe from Scout' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Unsubscribe' }).click()
  await expect(page.getByText('Successfully unsubscribed from Scout. Admin has been notified.')).toBeVisible()
  await page.context().close()
})

test('a mistyped new address is taken back, and its link opens nothing any more', async ({ browser }) => {
  const person = await createMember('emil')
  const page = await openAs(browser, person)
  const mistyped = person.email.replace('@', '.x@')
  await page.goto('/profile')
  await page.getByLabel('Email').fill(mistyped)
  const saved = page.waitForResponse((response) => response.request().method() === 'PATCH')
  await page.getByRole('button', { name: 'Save profile' }).click()
  // The change is shown, and could be cancelled, while it is still being saved.
  expect((await saved).ok()).toBe(true)
  await expect(
    page.getByText(`Email changes once the links sent to ${person.email} and ${mistyped} are both opened.`),
  ).toBeVisible()
  const mail = await mailTo(mistyped, /address/i)
  await page.getByRole('button', { name: `Cancel the change to ${mistyped}` }).click()
  await expect(page.getByText('Your email stays as it is').first()).toBeVisible()
  await expect(page.getByText(/Email changes once/)).toBeHidden()
  await openLink(page, mail)
  await expect(page).toHaveURL('/link-expired')
  await page.context().close()
})

test('mail about bots is switched off and stays off', async ({ browser }) => {
  const page = await openAs(browser, await createMember('mila'))
  await page.goto('/settings')
  const bots = page.getByRole('checkbox', { name: 'Changes to my bot subscriptions' })
  await expect(bots).toBeChecked()
  const stored = page.waitForResponse((response) => response.url().includes('/rpc/set_mail_choice'))
  await bots.click()
  expect((await stored).ok()).toBe(true)
  await page.reload()
  await expect(bots).not.toBeChecked()
  await page.context().close()
})
