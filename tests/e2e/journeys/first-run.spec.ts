import { expect, test } from '@playwright/test'
import {
  createEarner,
  createMember,
  decideDeposit,
  memberBrowser,
  openAs,
  requestDeposit,
  setWallet,
  signedIn,
} from '../people'

test('a new member meets one next step, one figure, and names of what is to come', async ({ browser }) => {
  const person = await createMember('first')
  const page = await openAs(browser, person)
  await page.goto('/dashboard')
  const main = page.getByRole('main')
  const step = main.getByRole('region', { name: 'Add your TRC20 wallet' })
  await expect(step).toContainText('Your next step, 2 of 4')
  await expect(
    step.getByText('Add your TRC-20 wallet address for withdrawals', {
      exact: true,
    }),
  ).toBeVisible()
  await expect(step).toContainText('about 2 minutes')
  const steps = step.getByRole('list', { name: 'Steps' }).getByRole('listitem')
  await expect(steps).toHaveText([/^Profile.*Done$/, /^2Wallet.*Now$/, /^3Package/, /^4Deposit/])
  await expect(steps.nth(1)).toHaveAttribute('aria-current', 'step')
  await expect(main.getByText('$0.00', { exact: true })).toHaveCount(1)
  await expect(main.getByRole('link', { name: 'Deposit', exact: true })).toHaveAccessibleDescription(
    'Deposit opens after step 2, Withdraw after step 4.',
  )
  const coming = main.getByRole('region', { name: 'What will appear here' })
  await expect(coming.getByRole('listitem')).toHaveText([
    'Earnings by typeYour first bonus will appear here.',
    'No team members yetTwo funded referrals form a pair.',
    'No transactions yetYour first one will appear here.',
  ])
  // Never out of sight.
  for (const name of ['Deposit', 'Withdraw'])
    await expect(main.getByRole('link', { name, exact: true })).toBeVisible()
  await expect(main.getByRole('button', { name: 'Refresh' })).toBeVisible()
  await expect(main.getByRole('button', { name: 'Copy referral link' })).toBeVisible()
  const summary = main.getByRole('button', {
    name: 'Detailed Account Summary',
  })
  await summary.click()
  await expect(main.getByText('Member since')).toBeVisible()

  await setWallet(await signedIn(person))
  await page.reload()
  await expect(
    main.getByText('Select a package and make your first deposit', {
      exact: true,
    }),
  ).toBeVisible()
  await expect(main.getByText('Withdraw opens after step 4.')).toBeVisible()
  await page.context().close()
})

test('on a phone the dashboard is at most three screens long before more of it', async ({ browser }) => {
  const [earner] = await createEarner('phone')
  const context = await memberBrowser(browser, earner, {
    viewport: { width: 390, height: 844 },
  })
  const page = await context.newPage()
  await page.goto('/dashboard', { waitUntil: 'networkidle' })
  const more = page.getByRole('button', { name: 'More', exact: true })
  await expect(page.getByRole('heading', { name: 'Latest transactions' })).toBeVisible()
  const box = await more.boundingBox()
  expect((box?.y ?? Infinity) + (box?.height ?? 0)).toBeLessThanOrEqual(3 * 844)
  await more.click()
  for (const name of ['Team Information', 'Earnings by type', 'Detailed Account Summary'])
    await expect(page.getByRole('heading', { name })).toBeAttached()

  await page.goto('/dashboard?view=advanced')
  const figures = page.getByRole('main').locator('.card-box')
  await expect(figures.nth(3)).toContainText('Referral bonus')
  const boxes = await Promise.all([0, 1, 2, 3].map((index) => figures.nth(index).boundingBox()))
  expect(boxes[0]?.y).toBe(boxes[1]?.y)
  expect(boxes[2]?.y).toBe(boxes[3]?.y)
  await context.close()
})

test('a member whose account is complete keeps the nine fields in sight on a wide page', async ({
  browser,
}) => {
  const person = await createMember('whole')
  const account = await signedIn(person)
  await setWallet(account)
  await decideDeposit(await requestDeposit(account, 100), {
    action: 'approve',
  })
  const page = await openAs(browser, person)
  await page.goto('/dashboard')
  await expect(page.getByRole('region', { name: 'Verification' })).toContainText(
    'Account fully verified and ready',
  )
  await expect(page.getByRole('region', { name: 'Detailed Account Summary' })).toContainText('−$100.00')
  await expect(page.getByText('No team members yet')).toBeVisible()
  await page.context().close()
})
