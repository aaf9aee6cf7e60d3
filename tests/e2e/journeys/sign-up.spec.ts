import { randomBytes } from 'node:crypto'
import { expect, test, type Page } from '@playwright/test'
import { violations } from '../accessibility'
import { untilAlive } from '../alive'
import { mailTo, openLink } from '../mail'
import { need } from '../stack'

const password = 'Lantern-at-the-quay-7'

function newcomer() {
  const tag = randomBytes(4).toString('hex')
  return { name: 'Noor Haddad', username: `noor_${tag}`, email: `noor.${tag}@example.com` }
}

test('a visitor follows a referral link, signs up, opens the mail and lands on the dashboard', async ({
  page,
}) => {
  const person = newcomer()
  await page.goto('/')
  await expect(page.getByRole('heading', { level: 1 })).toHaveText(
    'Trading tools, automation and a referral plan you can check.',
  )

  await page.goto(`/sign-up?ref=${need('DEMO_REFERRAL_CODE')}`)
  await expect(page.getByText('Your sponsor. This cannot be changed later.')).toBeVisible()
  await page.getByLabel('Full name').fill(person.name)
  await page.getByLabel('Username').fill(person.username)
  await expect(page.getByText('Available')).toBeVisible()
  await page.getByLabel('Email').fill(person.email)
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByRole('checkbox').check()
  await page.getByRole('button', { name: 'Create account' }).click()

  await expect(page.getByRole('heading', { name: 'Check your email' })).toBeVisible()
  await expect(page.getByText('Account created! Please check your email for verification.')).toBeVisible()

  const mail = await mailTo(person.email, /confirm/i)
  expect(mail.html + mail.text).toContain(person.username)
  await openLink(page, mail)
  await expect(page).toHaveURL(/\/dashboard/)
  await expect(page.getByRole('heading', { name: 'Your Command Center' })).toBeVisible()
  await expect(page.getByText('Email confirmed')).toBeVisible()
  // Said once, not at each return.
  const links = page.getByRole('banner')
  await links.getByRole('link', { name: 'Profile' }).click()
  await expect(page.getByRole('heading', { level: 1, name: 'Profile' })).toBeVisible()
  await links.getByRole('link', { name: 'Dashboard' }).click()
  await expect(page.getByRole('heading', { name: 'Your Command Center' })).toBeVisible()
  await expect(page.getByText('Email confirmed')).toHaveCount(0)

  await openLink(page, mail)
  await expect(page.getByText('This link has expired or was already used.')).toBeVisible()
})

test('sign-up says what is wrong where it can be mended, and keeps the input', async ({ page }) => {
  await page.goto('/sign-up')
  await untilAlive(page)
  await page.getByLabel('Referral code').fill('nobody-by-this-name')
  await page.getByLabel('Full name').fill('Noor Haddad')
  await expect(page.getByText('Invalid referral code')).toBeVisible()

  const username = page.getByLabel('Username')
  await username.fill('mara_l')
  await expect(page.getByText('Username already exists. Please choose a different username.')).toBeVisible()
  await expect(username).toHaveAttribute('aria-invalid', 'true')
  await expect(username).toHaveAccessibleDescription(/Username already exists/)
  await page.getByLabel('Password', { exact: true }).fill('five5')
  await page.getByRole('button', { name: 'Create account' }).click()
  const summary = page.getByRole('group', { name: 'What to correct' })
  await expect(summary).toBeFocused()
  await expect(summary.getByText('Password must be at least 6 characters long.')).toBeVisible()
  await expect(page.getByLabel('Full name')).toHaveValue('Noor Haddad')

  await page.getByLabel('Email').fill('noor@example.com')
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByLabel('Username').fill(newcomer().username)
  await page.getByRole('checkbox').check()
  await page.getByLabel('Referral code').fill('')
  await page.getByRole('button', { name: 'Create account' }).click()
  await expect(page.getByText('Referral code is required for registration')).toBeVisible()
  await expect(page.getByLabel('Referral code')).toBeFocused()
})

const waitingFor = (page: Page, email: string) =>
  page.getByText(`We sent a link and a six-digit code to ${email}`)

async function fill(page: Page, person: ReturnType<typeof newcomer>) {
  await page.getByLabel('Full name').fill(person.name)
  await page.getByLabel('Username').fill(person.username)
  await page.getByLabel('Email').fill(person.email)
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByRole('checkbox').check()
}

const stored = (page: Page) => page.evaluate(() => localStorage.getItem('referral'))
const card = (page: Page) => page.getByText('Your sponsor. This cannot be changed later.')
const create = (page: Page) => page.getByRole('button', { name: 'Create account' }).click()

test('an empty sign-up names the referral code first', async ({ page }) => {
  await page.goto('/sign-up')
  await create(page)
  const summary = page.getByRole('group', { name: 'What to correct' })
  await expect(summary).toBeFocused()
  await expect(summary.getByRole('listitem').first()).toHaveText('Referral code is required for registration')
  await expect(
    page.getByRole('alert').filter({ hasText: 'Referral code is required for registration' }),
  ).toBeVisible()
  await summary.getByRole('button', { name: 'Referral code is required for registration' }).click()
  await expect(page.getByLabel('Referral code')).toBeFocused()
})

test('a mistyped code before the right link is no dead end, and is kept nowhere', async ({ page }) => {
  const person = newcomer()
  await page.goto('/sign-up')
  await untilAlive(page)
  await page.getByLabel('Referral code').fill('nobody_here')
  await page.getByLabel('Full name').focus()
  await expect(page.getByText('Invalid referral code')).toBeVisible()
  expect(await stored(page)).toBeNull()

  await page.goto(`/sign-up?ref=${need('DEMO_REFERRAL_CODE')}`)
  await expect(card(page)).toBeVisible()
  await fill(page, person)
  await create(page)
  await expect(waitingFor(page, person.email)).toBeVisible()
})

test('of two links only the one that exists counts, in either order', async ({ page }) => {
  const right = need('DEMO_REFERRAL_CODE')
  for (const [first, second] of [
    ['nobody_here', right],
    [right, 'nobody_here'],
  ]) {
    await page.goto('/')
    await page.evaluate(() => localStorage.clear())
    await page.goto(`/risk?ref=${first}`)
    await expect.poll(() => stored(page)).not.toBeNull()
    await page.goto(`/sign-up?ref=${second}`)
    await expect(card(page)).toBeVisible()
    await expect(page.getByText('You followed two referral links')).toHaveCount(0)
    expect(await stored(page)).toContain(right)
    expect(await stored(page)).not.toContain('nobody_here')
  }

  await page.evaluate(() => localStorage.clear())
  await page.goto('/sign-up?ref=nobody_here')
  await expect(page.getByText('Invalid referral code')).toBeVisible()
  await expect(page.getByLabel('Referral code')).toHaveValue('nobody_here')
  expect(await stored(page)).toBeNull()
  await page.goto('/sign-up')
  await expect(page.getByLabel('Referral code')).toHaveValue('')
  await expect(page.getByText('Invalid referral code')).toHaveCount(0)
})

test('two sponsors that exist are a question, and a refused submit says so beside it', async ({ page }) => {
  const person = newcomer()
  await page.goto(`/risk?ref=${need('DEMO_REFERRAL_CODE')}`)
  await expect.poll(() => stored(page)).not.toBeNull()
  await page.goto('/sign-up?ref=ingrid_a')
  const question = page.getByRole('group', { name: 'Your sponsor' })
  await expect(question.getByRole('button')).toHaveCount(2)
  await fill(page, person)
  await create(page)
  await expect(
    question.getByText('Referral code is required for registration. Choose who invited you.'),
  ).toBeVisible()
  await expect(question.getByRole('button').first()).toBeFocused()
  // Two sponsors may have one name.
  await question.getByRole('button', { name: '@ingrid_a' }).click()
  await expect(page.getByText('@ingrid_a')).toBeVisible()
  await expect(page.getByRole('button', { name: 'Use another code' })).toBeFocused()
  await create(page)
  await expect(waitingFor(page, person.email)).toBeVisible()
})

test('what is typed survives a reload, leaving asks, and a blank around the username is no error', async ({
  page,
}) => {
  const person = newcomer()
  await page.goto(`/sign-up?ref=${need('DEMO_REFERRAL_CODE')}`)
  await expect(card(page)).toBeVisible()
  await fill(page, { ...person, username: ` ${person.username} ` })
  await expect(page.getByText('Available')).toBeVisible()
  await page.getByRole('link', { name: 'Sign in' }).first().click()
  const question = page.getByRole('dialog', { name: 'Leave without saving?' })
  await question.getByRole('button', { name: 'Stay' }).click()

  const asked = page.waitForEvent('dialog')
  const reloaded = page.reload()
  const dialog = await asked
  expect(dialog.type()).toBe('beforeunload')
  await dialog.accept()
  await reloaded
  await expect(page.getByLabel('Full name')).toHaveValue(person.name)
  await expect(page.getByLabel('Username')).toHaveValue(` ${person.username} `)
  await expect(page.getByLabel('Email')).toHaveValue(person.email)
  await expect(page.getByLabel('Password', { exact: true })).toHaveValue('')
  expect(await page.evaluate(() => JSON.stringify({ ...sessionStorage }))).not.toContain(password)

  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByRole('checkbox').check()
  await create(page)
  await expect(waitingFor(page, person.email)).toBeVisible()
  expect((await mailTo(person.email, /confirm/i)).html).toContain(person.username)
  expect(await page.evaluate(() => sessionStorage.getItem('sign-up-draft'))).toBeNull()
})

/** A visitor who has just created this account. */
async function signUp(page: Page, person: ReturnType<typeof newcomer>) {
  await page.goto(`/sign-up?ref=${need('DEMO_REFERRAL_CODE')}`)
  await expect(card(page)).toBeVisible()
  await fill(page, person)
  await create(page)
  await expect(waitingFor(page, person.email)).toBeVisible()
}

const digits = (page: Page) => page.getByLabel('Six-digit code')

async function codeTo(email: string): Promise<string> {
  return /\b\d{6}\b/.exec((await mailTo(email, /confirm/i)).text)?.[0] ?? ''
}

test('a mistyped address is corrected in its place, with the answers that were given', async ({ page }) => {
  const person = newcomer()
  await signUp(page, { ...person, email: `x.${person.email}` })
  await page.getByRole('button', { name: 'Change address' }).click()
  const form = page.getByRole('form', { name: 'Change address' })
  await expect(form.getByLabel('New email address')).toBeFocused()
  await expect(
    form.getByText(`${person.username} is reserved for x.${person.email} for 24 hours.`),
  ).toBeVisible()
  await form.getByLabel('New email address').fill(person.email)
  await form.getByLabel('Username').fill(person.username)
  await form.getByRole('button', { name: 'Send to this address' }).click()
  await expect(form.getByText('Username already exists. Please choose a different username.')).toBeVisible()
  await form.getByLabel('Username').fill(`${person.username}_b`)
  // The password is asked for again only where the page was loaded anew.
  await expect(form.getByLabel('Password', { exact: true })).toHaveCount(0)
  await form.getByRole('button', { name: 'Send to this address' }).click()
  await expect(waitingFor(page, person.email)).toBeVisible()
  await expect(page.getByRole('heading', { name: 'Check your email' })).toBeFocused()
  expect((await mailTo(person.email, /confirm/i)).html).toContain(`${person.username}_b`)

  await page.reload()
  await page.getByRole('button', { name: 'Change address' }).click()
  await expect(form.getByLabel('Password', { exact: true })).toHaveValue('')
  expect(await page.evaluate(() => JSON.stringify({ ...sessionStorage }))).not.toContain(password)
})

test('the six digits of the email sign in, pasted with a blank too; wrong ones say so', async ({ page }) => {
  const person = newcomer()
  await signUp(page, person)
  const right = await codeTo(person.email)
  const wrong = right === '000000' ? '000001' : '000000'
  await page.route('**/auth/v1/verify', (route) => route.abort(), { times: 1 })
  await digits(page).fill(wrong)
  await expect(page.getByText(/^We couldn’t reach the server\./)).toBeVisible()
  await page.getByRole('button', { name: 'Retry' }).click()
  const text = 'That code did not match. Use the code from the newest email.'
  await expect(page.getByRole('alert').filter({ hasText: text })).toBeVisible()
  await expect(digits(page)).toHaveAccessibleDescription(new RegExp(text))
  await expect(digits(page)).toHaveAttribute('aria-invalid', 'true')
  expect(await violations(page)).toEqual([])

  // The next code is typed over the wrong one.
  await digits(page).focus()
  await page.keyboard.insertText(`${right.slice(0, 3)} ${right.slice(3)}`)
  await expect(page.getByText('Opening your dashboard.')).toBeVisible()
  await expect(page).toHaveURL('/dashboard')
  await expect(page.getByText('Email confirmed')).toBeVisible()
})

test('the page that waits goes on when another tab opens the link, and elsewhere asks for the password', async ({
  page,
  browser,
}) => {
  const person = newcomer()
  await signUp(page, person)
  await page.getByRole('button', { name: 'I opened the link somewhere else' }).click()
  await expect(page.getByRole('heading', { name: 'Email confirmed. Sign in to continue.' })).toBeVisible()
  await expect(page.getByLabel('Email')).toHaveValue(person.email)
  await expect(page.getByLabel('Password', { exact: true })).toBeFocused()
  await page.getByRole('button', { name: 'Enter the code instead' }).click()
  await expect(digits(page)).toBeVisible()

  const tab = await page.context().newPage()
  await openLink(tab, await mailTo(person.email, /confirm/i))
  await expect(tab.getByRole('heading', { name: 'Your Command Center' })).toBeVisible()
  await page.bringToFront()
  await expect(page).toHaveURL('/dashboard')

  const other = newcomer()
  const phone = await (await browser.newContext()).newPage()
  await signUp(phone, other)
  const mailApp = await (await browser.newContext()).newPage()
  await openLink(mailApp, await mailTo(other.email, /confirm/i))
  await phone.getByRole('button', { name: 'I opened the link somewhere else' }).click()
  await phone.getByLabel('Password', { exact: true }).fill(password)
  await phone.locator('main').getByRole('button', { name: 'Sign in' }).click()
  await expect(phone).toHaveURL('/dashboard')
  await phone.context().close()
  await mailApp.context().close()
})

test('a double press creates one account, and what comes next survives until somebody is signed in', async ({
  page,
}) => {
  const person = newcomer()
  const sent: string[] = []
  page.on('request', (request) => {
    if (request.method() === 'POST' && request.url().includes('/auth/v1/signup')) sent.push(request.url())
  })
  await page.goto(`/sign-up?ref=${need('DEMO_REFERRAL_CODE')}`)
  await expect(card(page)).toBeVisible()
  await fill(page, person)
  await page.getByRole('button', { name: 'Create account' }).dblclick()
  await expect(page.getByRole('heading', { name: 'Check your email' })).toBeFocused()
  await expect(page.getByText('Account created! Please check your email for verification.')).toBeVisible()
  await expect(page.getByText('Failed to create account')).toHaveCount(0)
  expect(sent).toHaveLength(1)
  // One was sent just now.
  await expect(page.getByRole('button', { name: /^Resend in \d+ s$/ })).toBeDisabled()

  const waiting = waitingFor(page, person.email)
  await page.reload()
  await expect(waiting).toBeVisible()
  await page.goto('/risk')
  await page.goBack()
  await expect(waiting).toBeVisible()

  await openLink(page, await mailTo(person.email, /confirm/i))
  await expect(page.getByRole('heading', { name: 'Your Command Center' })).toBeVisible()
  await page.goto('/sign-up')
  await expect(page.getByText(`You are signed in as ${person.email}.`)).toBeVisible()
  expect(await page.evaluate(() => sessionStorage.getItem('created-account'))).toBeNull()
})

test('another code begins empty, is understood as a link or with its @, and the first sponsor stays in reach', async ({
  page,
}) => {
  const code = page.getByLabel('Referral code')
  const another = page.getByRole('button', { name: 'Use another code' })
  await page.goto(`/sign-up?ref=${need('DEMO_REFERRAL_CODE')}`)
  await another.click()
  await expect(code).toBeFocused()
  await expect(code).toHaveValue('')
  await page.getByRole('button', { name: /^Keep .*@mara_l$/ }).click()
  await expect(page.getByText('@mara_l')).toBeVisible()
  await expect(another).toBeFocused()

  await another.click()
  await code.fill('@ingrid_a')
  await code.press('Enter')
  await expect(page.getByText('@ingrid_a')).toBeVisible()
  await another.click()
  await code.fill(`${new URL(page.url()).origin}/sign-up?ref=mara_l`)
  await code.press('Enter')
  await expect(page.getByText('@mara_l')).toBeVisible()
})

test('a mistyped code survives a reload, and leaving asks', async ({ page }) => {
  const code = page.getByLabel('Referral code')
  await page.goto('/sign-up')
  await untilAlive(page)
  await code.fill('nobody_here')
  await page.getByRole('link', { name: 'Sign in' }).first().click()
  const question = page.getByRole('dialog', { name: 'Leave without saving?' })
  await question.getByRole('button', { name: 'Stay' }).click()

  page.once('dialog', (dialog) => void dialog.accept())
  await page.reload()
  await expect(code).toHaveValue('nobody_here')
  await expect(page.getByText('Invalid referral code')).toBeVisible()
  expect(await stored(page)).toBeNull()

  page.once('dialog', (dialog) => void dialog.accept())
  await page.goto(`/sign-up?ref=${need('DEMO_REFERRAL_CODE')}`)
  await expect(card(page)).toBeVisible()
  await expect(code).toHaveCount(0)
})

test('errors are listed in the order of the form, whenever they were found', async ({ page }) => {
  await page.goto('/sign-up')
  await create(page)
  const summary = page.getByRole('group', { name: 'What to correct' })
  await expect(summary).toBeFocused()
  await page.getByLabel('Referral code').fill('nobody_here')
  await page.getByLabel('Full name').focus()
  await expect(summary.getByRole('listitem').first()).toHaveText('Invalid referral code')
})
