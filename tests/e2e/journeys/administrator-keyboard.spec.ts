import { expect, test, type Page } from '@playwright/test'
import { administratorBrowser, createMember, requestDeposit, setWallet, signedIn } from '../people'

// A keyboard user never starts at the top of the page again, also while things move.
test.use({ contextOptions: { reducedMotion: 'no-preference' } })

test.describe('the focus of an administrator', () => {
  let page: Page

  test.beforeEach(async ({ browser }) => {
    page = await (await administratorBrowser(browser)).newPage()
  })
  test.afterEach(async () => {
    await page.context().close()
  })

  /** Which dialog the keys are for is told to it when React is idle. */
  const untilIdle = () => page.evaluate(() => new Promise((idle) => requestIdleCallback(idle)))

  test('returns from the details to what opened them', async () => {
    const { username } = await createMember('focus')
    await page.goto(`/admin/users?q=${username}`)
    const details = page.getByRole('button', { name: `Details of ${username}` })
    await details.focus()
    await page.keyboard.press('Enter')
    const sheet = page.getByRole('dialog', { name: username })
    const suspend = sheet.getByRole('button', { name: 'Suspend' })
    await suspend.focus()
    await page.keyboard.press('Enter')
    const question = page.getByRole('dialog', { name: `Suspend ${username}?` })
    await expect(question.locator(':focus')).toBeVisible()
    // Keys are the details' until they have been told that something lies above them, which React does when idle.
    await expect(page.locator('[role=dialog]', { hasText: username }).first()).toHaveCSS(
      'pointer-events',
      'none',
    )
    await untilIdle()
    await page.keyboard.press('Escape')
    await expect(suspend).toBeFocused()
    await untilIdle()
    await page.keyboard.press('Escape')
    await expect(details).toBeFocused()
  })

  test('stays in the details when their button has done its work', async () => {
    const { username } = await createMember('focus')
    await page.goto(`/admin/users?q=${username}`)
    await page.getByRole('button', { name: `Details of ${username}` }).click()
    const sheet = page.getByRole('dialog', { name: username, exact: true })
    await sheet.getByRole('button', { name: 'Suspend' }).click()
    const question = page.getByRole('dialog', { name: `Suspend ${username}?` })
    await question.getByLabel('Reason').fill('Two people use this account')
    await question.getByRole('button', { name: 'Suspend' }).click()
    await expect(question).toBeHidden()
    await expect(sheet).toBeFocused()
  })

  test('returns to the button of the menu that opened the details', async () => {
    const person = await createMember('focus')
    const account = await signedIn(person)
    await setWallet(account)
    await requestDeposit(account, 100)
    await page.goto(`/admin/deposits?q=${person.username}`)
    const more = page.getByRole('button', { name: `More about the deposit of ${person.username}` })
    await more.focus()
    await page.keyboard.press('Enter')
    await page.getByRole('menuitem', { name: 'Details' }).press('Enter')
    const sheet = page.getByRole('dialog', { name: `Deposit of ${person.username}` })
    await expect(sheet).toBeVisible()
    await untilIdle()
    await page.keyboard.press('Escape')
    await expect(sheet).toBeHidden()
    await expect(more).toBeFocused()
  })

  test('goes on to the next request that waits, and from the last one to the heading', async () => {
    const person = await createMember('focus')
    const account = await signedIn(person)
    await setWallet(account)
    for (const amount of [50, 100, 250]) await requestDeposit(account, amount)
    await page.goto(`/admin/deposits?q=${person.username}`)
    const approve = (amount: string) =>
      page
        .getByRole('row', { name: `${person.username} ${amount}` })
        .getByRole('button', { name: `Approve the deposit of ${person.username}` })

    await approve('$50.00').focus()
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Approve $50.00' }).press('Enter')
    await expect(page.getByText('Deposit approved successfully')).toBeVisible()
    await expect(approve('$50.00')).toBeHidden()
    await expect(approve('$100.00')).toBeFocused()

    // Decided out of the details, which close with it.
    await page
      .getByRole('row', { name: `${person.username} $100.00` })
      .getByRole('button', { name: person.username, exact: true })
      .press('Enter')
    const sheet = page.getByRole('dialog', { name: `Deposit of ${person.username}` })
    await sheet.getByRole('button', { name: 'Reject' }).press('Enter')
    await page.getByRole('button', { name: 'Reject $100.00' }).press('Enter')
    await expect(sheet).toBeHidden()
    await expect(approve('$250.00')).toBeFocused()

    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Approve $250.00' }).press('Enter')
    await expect(page.getByText('No deposits found')).toBeVisible()
    await expect(page.getByRole('heading', { level: 1 })).toBeFocused()
  })
})
