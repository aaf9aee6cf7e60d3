import { randomBytes } from 'node:crypto'
import { expect, test } from '@playwright/test'
import { filled } from '../filled'
import {
  administratorBrowser,
  createFunded,
  createMember,
  decideDeposit,
  financeToken,
  openAs,
  profileId,
  requestDeposit,
  send,
  setWallet,
  signedIn,
} from '../people'
import { receiptPicture } from '../receipt'
import { administratorSession, need } from '../stack'

// Less arrives than was claimed, and a correction asks for more: each way on leads to the end.

const finance = {
  email: need('DEMO_FINANCE_EMAIL'),
  password: need('DEMO_FINANCE_PASSWORD'),
}

test('the rest of a deposit is asked for, sent, and approved with the sum', async ({ browser }) => {
  const person = await createMember('rest')
  const account = await signedIn(person)
  await setWallet(account)
  await requestDeposit(account, 100)
  const desk = await (await administratorBrowser(browser, {}, finance)).newPage()
  await desk.goto(`/admin/deposits?q=${person.username}`)
  const approve = desk.getByRole('button', {
    name: `Approve the deposit of ${person.username}`,
  })
  await approve.click()
  const dialog = desk.getByRole('dialog')
  const arrived = dialog.getByLabel(/^Amount that/)
  await expect(arrived).toHaveValue('')
  await expect(arrived).toHaveAccessibleDescription(
    'Leave it empty if $100.00 arrived. It may differ from $100.00 by $5.00 at most; $100.00 is credited either way.',
  )
  await arrived.fill('60.005')
  await dialog.getByRole('button', { name: 'Approve $100.00' }).click()
  await expect(arrived).toBeFocused()
  await expect(arrived).toHaveAccessibleDescription(/Use at most 2 decimals/)
  await arrived.fill('60')
  await dialog.getByRole('button', { name: 'Approve $100.00' }).click()
  await expect(arrived).toHaveAccessibleDescription(/The member claimed \$100\.00, and \$60\.00 arrived\./)
  await expect(arrived).toBeFocused()

  // A rejection names both amounts; back from there, what was typed is kept.
  await dialog.getByRole('button', { name: 'Reject with both amounts' }).click()
  await expect(dialog.getByLabel('Rejection Reason')).toBeFocused()
  await expect(dialog.getByLabel('Rejection Reason')).toHaveValue(
    'We received $60.00, and you claimed $100.00.',
  )
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await expect(approve).toBeFocused()
  await desk
    .getByRole('button', {
      name: `More about the deposit of ${person.username}`,
    })
    .click()
  await desk.getByRole('menuitem', { name: 'Ask for the rest' }).click()
  await expect(
    dialog.getByRole('heading', {
      name: 'Ask for the rest of the deposit of $100.00?',
    }),
  ).toBeVisible()
  await expect(arrived).toHaveValue('60.00')
  await expect(dialog.getByText('The member is asked to send $40.00.')).toBeVisible()
  await dialog.getByRole('button', { name: 'Ask for the rest' }).click()
  await expect(desk.getByText('The member was asked for the rest')).toBeVisible()
  await expect(dialog).toBeHidden()
  await expect(desk.getByText(/^Rest asked for by .+: \$60\.00 arrived, \$40\.00 is missing$/)).toBeVisible()

  const page = await openAs(browser, person)
  await page.goto('/dashboard')
  await page.getByRole('link', { name: 'Send the rest' }).click()
  const rest = page.getByRole('form', {
    name: 'Rest of the deposit of $100.00',
  })
  await expect(page.getByText('Send the missing $40.00.')).toBeVisible()
  await expect(rest.getByRole('button', { name: 'Copy amount' })).toBeVisible()
  expect(await filled(page)).toEqual(['Add reference'])
  const reference = rest.getByLabel('Reference of the rest')
  await rest.getByRole('button', { name: 'Add reference' }).click()
  await expect(reference).toHaveAccessibleDescription(/Enter the reference number/)
  await reference.fill('a'.repeat(62))
  await rest.getByRole('button', { name: 'Add reference' }).click()
  await expect(reference).toHaveAccessibleDescription(/wrong or missing character/)
  await expect(reference).toHaveValue('a'.repeat(62))
  const hash = randomBytes(32).toString('hex')
  await reference.fill(hash)
  await rest.getByRole('button', { name: 'Add reference' }).click()
  await expect(page.getByText('The reference of the rest was received').first()).toBeVisible()
  await expect(page.getByRole('heading', { name: 'Deposit, Basic $100.00' })).toBeFocused()
  await expect(page.getByRole('article')).toContainText(
    'Nothing to do now. The reference of the rest was received.',
  )
  await expect(rest).toHaveCount(0)

  await desk.reload()
  await approve.click()
  await expect(dialog).toContainText(`Reference of the rest${hash}`)
  await dialog.getByRole('button', { name: 'Approve $100.00' }).click()
  await expect(arrived).toHaveAccessibleDescription(/The rest of this deposit was asked for\. Enter how much/)
  await arrived.fill('98.50')
  await dialog.getByRole('button', { name: 'Approve $100.00' }).click()
  await expect(desk.getByText('Deposit approved successfully')).toBeVisible()
  await desk.goto(`/admin/deposits?status=approved&q=${person.username}`)
  await expect(desk.getByRole('row', { name: new RegExp(person.username) })).toContainText('$98.50 arrived')
  await page.goto('/transactions')
  await page.getByRole('button', { name: 'Details of Deposit, +$100.00' }).click()
  await expect(page.getByRole('dialog')).toContainText('Arrived$98.50')
  await expect(page.getByRole('dialog')).toContainText(hash)
  for (const one of [desk, page]) await one.context().close()
})

test('what a correction leaves missing is paid, though it is a package price', async ({ browser }) => {
  const [person, account] = await createFunded('owing', 500)
  const owner = await administratorSession(need('DEMO_ADMIN_EMAIL'), need('DEMO_ADMIN_PASSWORD'))
  const { correction } = await send<{ correction: { id: string } }>(
    owner.access_token,
    'POST',
    '/functions/v1/admin-propose-correction',
    {
      kind: 'set_package',
      targetId: await profileId(account),
      value: '1000.00',
      reason: 'Promised',
    },
  )
  await send(await financeToken(), 'POST', '/functions/v1/admin-confirm-correction', {
    correctionId: correction.id,
  })
  const page = await openAs(browser, person)
  await page.goto('/dashboard')
  await page.getByRole('link', { name: 'Go to deposit' }).click()
  const complete = page.getByRole('radio').first()
  await expect(complete).toHaveAccessibleName(/^Complete your package deposit \(\$500\.00\/\$1,000\.00\)/)
  await complete.click()
  const summary = page.getByRole('region', { name: 'This deposit' })
  await expect(summary).toContainText('Package afterVIP Package')
  await expect(summary).toContainText('Cash-in after approval$1,000.00')
  await page.getByLabel('Reference number').fill(randomBytes(32).toString('hex'))
  const picture = {
    name: 'transfer.png',
    mimeType: 'image/png',
    buffer: receiptPicture(),
  }
  await page.locator('input[type=file]').setInputFiles(picture)
  await expect(page.getByText('Receipt uploaded successfully').first()).toBeVisible()
  await page.getByRole('checkbox', { name: 'I understand' }).check()
  await page.getByRole('button', { name: 'Review deposit' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Submit $500.00' }).click()
  await expect(page.getByRole('article')).toContainText('VIP Package, pairing rate 50.00%, cash-in $1,000.00')
  const [deposit] = await send<{ id: string }[]>(
    account.token,
    'GET',
    '/rest/v1/deposits?select=id&status=eq.pending',
  )
  await decideDeposit(deposit?.id ?? '', { action: 'approve' })
  await page.goto('/profile')
  await expect(page.getByText('Account fully verified and ready')).toBeVisible()
  await page.context().close()
})
