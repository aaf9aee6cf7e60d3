import { readFileSync } from 'node:fs'
import { expect, test, type Browser, type Page } from '@playwright/test'
import { overflow } from '../accessibility'
import {
  administratorBrowser,
  createFunded,
  createMember,
  financeToken,
  requestDeposit,
  send,
  setWallet,
  signedIn,
} from '../people'
import { receiptPicture } from '../receipt'
import { need, origin } from '../stack'

// The administrators' tables, and what is opened from them.

const lists = [
  'deposits',
  'deposits?status=all',
  'withdrawals',
  'withdrawals?status=approved',
  'users',
  'bots',
  'transactions',
  'audit',
]
const widths = [1920, 1440, 1280, 1024, 768, 390]

async function open(browser: Browser, path: string, width = 1440): Promise<Page> {
  const context = await administratorBrowser(browser, {
    viewport: { width, height: 900 },
  })
  const page = await context.newPage()
  await page.goto(`/admin/${path}`)
  return page
}

/** Cells and headings of a row that stand over one another, or reach out of their table's box. */
async function collisions(page: Page): Promise<string[]> {
  return page
    .locator('table')
    .first()
    .evaluate((table) => {
      const box = table.parentElement?.getBoundingClientRect()
      const rows = Array.from(table.querySelectorAll('tr'), (row) => Array.from(row.children))
      return rows.flatMap((cells) =>
        cells.flatMap((cell, index) => {
          const own = cell.getBoundingClientRect()
          const next = cells[index + 1]?.getBoundingClientRect()
          const contents = Array.from(cell.querySelectorAll('button, span, a, time')).filter(
            (part) =>
              part.getClientRects().length > 0 &&
              getComputedStyle(part).position !== 'absolute' &&
              !part.parentElement?.closest('.truncate'),
          )
          const sticksOut = contents.some((part) => part.getBoundingClientRect().right > own.right + 1)
          const isUnder = next !== undefined && next.left < own.right - 1
          const isOutside = box !== undefined && own.right > box.right + 1
          return sticksOut || isUnder || isOutside ? [cell.textContent] : []
        }),
      )
    })
}

test('nothing lies under another column, however wide the window is', async ({ browser }) => {
  const [person, account] = await createFunded('wide', 1000, { length: 30 })
  await requestDeposit(account, 1234567.89)
  await send(account.token, 'POST', '/functions/v1/bot-subscription', {
    bot_name: 'Sentinel',
    action: 'subscribe',
    mt5_server: 'S'.repeat(128),
    mt5_login: '5'.repeat(64),
    mt5_password: 'p'.repeat(200),
  })
  const page = await open(browser, 'users')
  for (const list of lists) {
    // The widest first: from a phone's cards it would be a table only after a while.
    await page.setViewportSize({ width: Math.max(...widths), height: 900 })
    await page.goto(`/admin/${list}${list.includes('?') ? '&' : '?'}q=${person.username.slice(0, 8)}`)
    await expect(page.getByRole('status').filter({ hasText: /^\d+ of / })).toBeVisible()
    for (const width of widths) {
      await page.setViewportSize({ width, height: 900 })
      // Columns give way only after the page has been measured.
      await expect.poll(() => overflow(page), `${list} at ${width}`).toBe(0)
      if (width < 768 || (await page.locator('table').count()) === 0) continue
      await expect.poll(() => collisions(page), `${list} at ${width}`).toEqual([])
    }
  }
  await page.context().close()
})

test('a phone shows every column of transactions and bots', async ({ browser }) => {
  const [person, account] = await createFunded('phone', 100)
  await send(account.token, 'POST', '/functions/v1/bot-subscription', {
    bot_name: 'Scout',
    action: 'subscribe',
    mt5_server: 'Demo-1',
    mt5_login: '100200',
    mt5_password: 'p'.repeat(200),
  })
  const page = await open(browser, `transactions?q=${person.username}`, 390)
  const card = page.getByRole('listitem').filter({ has: page.getByRole('link', { name: person.username }) })
  const labels = card.getByRole('term')
  await expect(labels).toHaveText(['Type', 'Reference ID'])
  await page.goto(`/admin/bots?q=${person.username}`)
  await expect(labels).toHaveText(['MT5 Server', 'MT5 Login', 'MT5 Password', 'Subscribed'])
  await expect(card.getByText('100200')).toBeVisible()
  await expect(card.getByText('... 200 characters')).toBeVisible()
  expect(await overflow(page)).toBe(0)
  await card.getByRole('link', { name: person.username }).click()
  await expect(page.getByRole('dialog', { name: person.username })).toBeVisible()
  await page.context().close()
})

test('the names of the columns stay in sight, and stand above their figures', async ({ browser }) => {
  const page = await open(browser, 'transactions?size=100')
  const head = page.getByRole('columnheader', { name: 'User' })
  await head.waitFor()
  await page.evaluate(() => window.scrollTo(0, 900))
  await expect.poll(async () => (await head.boundingBox())?.y).toBe(0)

  await page.goto('/admin/users')
  const word = page.getByRole('columnheader', { name: 'Package', exact: true }).getByRole('button')
  const figure = page
    .getByRole('row')
    .nth(1)
    .getByText(/^\$[\d,]+\.\d\d$/)
  const right = async (locator: typeof figure) => {
    const box = await locator.evaluate((element) => {
      const range = document.createRange()
      range.selectNodeContents(element.firstChild ?? element)
      return range.getBoundingClientRect().right
    })
    return Math.round(box)
  }
  // Again, as the font may arrive between the two looks and move the columns.
  await expect.poll(async () => Math.abs((await right(word)) - (await right(figure)))).toBeLessThanOrEqual(1)
  await page.context().close()
})

test('a sort that no list has is as none', async ({ browser }) => {
  const page = await open(browser, 'users?sort=shoe_size.asc')
  await expect(page.getByRole('button', { name: /^Details of / }).first()).toBeVisible()
  await page.context().close()
})

test('one press shows one password, and is one look on the record', async ({ browser }) => {
  const owners = await Promise.all(
    [1, 2].map(async (n) => {
      const person = await createMember('reveal')
      const account = await signedIn(person)
      await send(account.token, 'POST', '/functions/v1/bot-subscription', {
        bot_name: 'Scout',
        action: 'subscribe',
        mt5_server: 'Demo-1',
        mt5_login: '100200',
        mt5_password: `lantern-${n}-${person.username}`,
      })
      return { ...person, password: `lantern-${n}-${person.username}` }
    }),
  )
  const looks: string[] = []
  const page = await open(browser, 'bots?q=reveal_')
  page.on('request', (request) => {
    if (request.url().endsWith('/admin-reveal-mt5-password')) looks.push(request.postData() ?? '')
  })
  for (const { username, password } of owners) {
    await page.getByRole('button', { name: `Show the MT5 password of ${username}` }).click()
    await expect(page.getByText(password, { exact: true })).toBeVisible()
  }
  // The one before is hidden again.
  await expect(page.getByText(owners[0]?.password ?? '', { exact: true })).toHaveCount(0)
  expect(looks).toHaveLength(2)
  for (const body of looks) {
    const { subscriptionId } = JSON.parse(body) as { subscriptionId: string }
    const { total } = await send<{ total: number }>(
      await financeToken(),
      'POST',
      '/functions/v1/admin-audit',
      {
        objectId: subscriptionId,
        action: 'bot.password_revealed',
      },
    )
    expect(total).toBe(1)
  }
  await page.context().close()
})

test('the audit log is searched while typing, and saved as it is shown', async ({ browser }) => {
  const [person] = await createFunded('traced', 100)
  const page = await open(browser, 'audit')
  const refused: string[] = []
  page.on('response', (response) => {
    if (response.url().endsWith('/admin-audit') && !response.ok()) refused.push(response.statusText())
  })
  await page
    .getByRole('searchbox', { name: 'Search by username or id' })
    .pressSequentially(person.username, { delay: 120 })
  await expect(page).toHaveURL(new RegExp(`q=${person.username}`))
  await page.getByRole('combobox', { name: 'Administrator' }).click()
  await page.getByRole('option', { name: 'Elin Dahl' }).click()
  await expect(page.getByRole('status').filter({ hasText: '1 of 1 entries' })).toBeVisible()
  const row = page.getByRole('row').nth(1)
  await expect(row).toContainText('Deposit: approved')
  const day = (away: number) => new Date(Date.now() + away * 86_400_000).toISOString().slice(0, 10)
  // Once, as midnight may come between.
  const [today, tomorrow] = [day(0), day(1)]
  await page.getByLabel('From, UTC').fill(tomorrow)
  await expect(page.getByText('No matching entries')).toBeVisible()
  await page.getByRole('button', { name: `Remove filter From, UTC: ${tomorrow}` }).click()
  await page.getByLabel('To, UTC').fill(today)
  await expect(page.getByRole('button', { name: `Remove filter To, UTC: ${today}` })).toBeVisible()
  await expect(page.getByRole('status').filter({ hasText: '1 of 1 entries' })).toBeVisible()
  const id = (await row.locator('[title]').filter({ hasText: '-' }).first().getAttribute('title')) ?? ''

  const saved = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Export CSV' }).click()
  const [, ...rows] = readFileSync(await (await saved).path(), 'utf8')
    .trimEnd()
    .split('\r\n')
  expect(rows).toHaveLength(1)
  expect(rows[0]).toContain('deposit.approved')

  await page.goto(`/admin/audit?q=${id.slice(0, 8).toUpperCase()}`)
  await expect(page.getByRole('button', { name: 'Deposit: approved' })).toBeVisible()
  expect(refused).toEqual([])
  await page.context().close()
})

test('a page that was asked for opens after signing in', async ({ page }) => {
  await page.goto('/admin/withdrawals?status=approved&size=50')
  await expect(page).toHaveURL(/\/admin\/login$/)
  await page.getByLabel('Email').fill(need('DEMO_ADMIN_EMAIL'))
  await page.getByLabel('Password', { exact: true }).fill(need('DEMO_ADMIN_PASSWORD'))
  await page.getByRole('button', { name: 'Sign in' }).click()
  await expect(page).toHaveURL(/\/admin\/withdrawals\?status=approved&size=50$/)
  await expect(page.getByRole('status').filter({ hasText: / of [\d,]+ withdrawals$/ })).toBeVisible()
  // Who signs out is done with it, even where the list is read once more meanwhile, and rejected.
  await page.route('**/functions/v1/admin-auth', async (route) => {
    const rejected = page.waitForResponse((other) => other.status() === 401)
    const response = await route.fetch()
    // The press tells the server that a person is here: where that is rejected first, the page goes without the button.
    await Promise.race([rejected, page.getByRole('button', { name: 'Refresh' }).click()])
    await rejected
    await route.fulfill({ response })
  })
  await page.getByRole('button', { name: 'Sign Out' }).click()
  await expect(page).toHaveURL(/\/admin\/login$/)
  await page.unrouteAll({ behavior: 'wait' })
  await page.getByLabel('Email').fill(need('DEMO_ADMIN_EMAIL'))
  await page.getByLabel('Password', { exact: true }).fill(need('DEMO_ADMIN_PASSWORD'))
  await page.getByRole('button', { name: 'Sign in' }).click()
  await expect(page).toHaveURL(/\/admin\/dashboard$/)
})

test('a tall receipt is seen whole, turned and not', async ({ browser }) => {
  const person = await createMember('tall')
  const account = await signedIn(person)
  await setWallet(account)
  await requestDeposit(account, 100)
  const page = await open(browser, `deposits?q=${person.username}`)
  await page.route(`${origin}/storage/v1/object/sign/**`, (route) =>
    route.fulfill({
      contentType: 'image/png',
      body: receiptPicture(540, 1170),
    }),
  )
  await page.getByRole('button', { name: `View the receipt of ${person.username}` }).click()
  const box = page.getByRole('group', { name: 'Receipt' })
  const picture = page.getByRole('img', {
    name: `Receipt that ${person.username} sent`,
  })
  const shape = () =>
    picture.evaluate((image) => {
      const { width, height } = image.getBoundingClientRect()
      return Math.round((width / height) * 100) / 100
    })
  const scrolls = () =>
    box.evaluate(
      (element) => element.scrollHeight > element.clientHeight || element.scrollWidth > element.clientWidth,
    )
  await expect.poll(shape).toBe(0.46)
  expect(await scrolls()).toBe(false)
  await page.getByRole('button', { name: 'Rotate' }).click()
  await expect.poll(shape).toBe(2.17)
  expect(await scrolls()).toBe(false)
  await page.getByRole('button', { name: 'Zoom in' }).click()
  await page.getByRole('button', { name: 'Zoom in' }).click()
  expect(await scrolls()).toBe(true)
  await page.context().close()
})

test('the button that turns the pages keeps the focus on the last one, and turns no further', async ({
  browser,
}) => {
  const context = await administratorBrowser(browser)
  const page = await context.newPage()
  await page.goto('/admin/users')
  const next = page.getByRole('button', { name: 'Next' })
  await next.focus()
  // Others join meanwhile: the last page is the one from which there is no next.
  for (let turned = 1; (await next.getAttribute('aria-disabled')) !== 'true'; turned += 1) {
    await page.keyboard.press('Enter')
    await expect(page.getByText(`Page ${turned + 1} of`)).toBeVisible()
    await expect(next).toBeFocused()
  }
  const address = page.url()
  await page.keyboard.press('Enter')
  await expect(next).toBeFocused()
  expect(page.url()).toBe(address)
  expect(address).toContain('page=')
  await context.close()
})
