import { expect, test, type Browser, type Locator, type Page } from '@playwright/test'
import { violations } from '../accessibility'
import { faxedPdf, lockedPdf, receiptPdf } from '../pdf'
import {
  administratorBrowser,
  createFunded,
  openAs,
  requestDeposit,
  type Account,
  type Person,
} from '../people'
import { origin } from '../stack'

// Receipts that are PDFs are drawn in the page. What a stranger's file wants to run does not run.
// threats: T95

let person: Person
let account: Account

test.beforeEach(async () => {
  ;[person, account] = await createFunded('papers', 100)
})

async function send(amount: number, pdf: Buffer): Promise<void> {
  await requestDeposit(account, amount, undefined, pdf)
}

async function openList(browser: Browser, said: string[] = []): Promise<Page> {
  const context = await administratorBrowser(browser, { deviceScaleFactor: 2 })
  const page = await context.newPage()
  page.on('console', (message) => said.push(message.text()))
  page.on('dialog', (dialog) => said.push(dialog.message()))
  await page.goto(`/admin/deposits?q=${person.username}&status=all`)
  return page
}

async function openReceipt(page: Page, amount: string): Promise<Locator> {
  const row = page.getByRole('row').filter({ hasText: amount })
  await row.getByRole('button', { name: `View the receipt of ${person.username}` }).click()
  return page.getByRole('dialog', { name: `Receipt of ${person.username}` })
}

/** How many of a drawn page's pixels are dark. */
async function ink(canvas: Locator): Promise<number> {
  return canvas.evaluate((drawn: HTMLCanvasElement) => {
    if (drawn.width === 0) return 0
    // From a copy: who reads the page's own canvas often is advised against it on the console.
    const copy = new OffscreenCanvas(drawn.width, drawn.height).getContext('2d', { willReadFrequently: true })
    if (!copy) throw new Error('no canvas')
    copy.drawImage(drawn, 0, 0)
    const { data } = copy.getImageData(0, 0, drawn.width, drawn.height)
    let dark = 0
    for (let at = 0; at < data.length; at += 4)
      if ((data[at] ?? 255) < 100 && (data[at + 3] ?? 0) > 200) dark += 1
    return dark
  })
}

async function width(shown: Locator): Promise<number> {
  return (await shown.boundingBox())?.width ?? 0
}

test('the pages are drawn, larger, turned and fitted again, and no script of the file runs', async ({
  browser,
}) => {
  await send(11, receiptPdf(2, "globalThis.ranScript = true; app.alert\\('ran'\\);"))
  const said: string[] = []
  const page = await openList(browser, said)
  const asked: string[] = []
  page.on('request', (request) => asked.push(request.url()))
  const viewer = await openReceipt(page, '$11.00')
  const first = viewer.getByRole('img', { name: 'Page 1 of 2' })
  await expect(viewer.getByText('2 pages')).toBeVisible()
  for (const name of ['Page 2 of 2', 'Page 1 of 2']) {
    const drawnPage = viewer.getByRole('img', { name })
    await drawnPage.scrollIntoViewIfNeeded()
    await expect.poll(() => ink(drawnPage)).toBeGreaterThan(500)
  }

  const fitted = await width(first)
  const drawn = () => first.evaluate((canvas: HTMLCanvasElement) => canvas.width)
  await expect.poll(drawn).toBeGreaterThan(fitted * 2 - 4)
  await viewer.getByRole('button', { name: 'Zoom in' }).click()
  await expect.poll(() => width(first)).toBeCloseTo(fitted * 1.5, 0)
  await expect.poll(drawn).toBeGreaterThan(fitted * 3 - 4)
  await viewer.getByRole('button', { name: 'Rotate' }).click()
  const ratio = async () => ((await first.boundingBox())?.height ?? 0) / (await width(first))
  await expect.poll(ratio).toBeCloseTo(595 / 842, 2)
  await expect.poll(() => ink(first)).toBeGreaterThan(500)
  await viewer.getByRole('button', { name: 'Fit' }).click()
  await expect.poll(() => width(first)).toBeCloseTo(fitted, 0)
  await expect.poll(ratio).toBeCloseTo(842 / 595, 2)

  expect(await violations(page)).toEqual([])
  expect(await page.evaluate(() => 'ranScript' in globalThis)).toBe(false)
  expect(asked.filter((url) => !url.startsWith(origin) && !url.startsWith('blob:'))).toEqual([])
  expect(asked.filter((url) => /quickjs|sandbox|\.wasm/.test(url))).toEqual([])
  expect(said).toEqual([])
  await page.keyboard.press('Escape')
  await expect(viewer).toBeHidden()
  await page.context().close()
})

test('what a PDF does not bring along comes from this server', async ({ browser }) => {
  await send(12, faxedPdf())
  const page = await openList(browser)
  const fetched: string[] = []
  page.context().on('response', (response) => {
    const [, file] = /\/assets\/pdfjs-[\d.]+\/(.+)$/.exec(response.url()) ?? []
    if (file) fetched.push(`${response.status()} ${file}`)
  })
  const viewer = await openReceipt(page, '$12.00')
  const drawn = viewer.getByRole('img', { name: 'Page 1 of 1' })
  // Each of the two black squares is a fiftieth of the page.
  const area = () => drawn.evaluate((canvas: HTMLCanvasElement) => canvas.width * canvas.height)
  await expect.poll(async () => (await ink(drawn)) / (await area())).toBeGreaterThan(0.039)
  await expect(viewer.getByText('1 page')).toBeVisible()
  expect(fetched.sort()).toEqual([
    '200 cmaps/Adobe-GB1-UCS2.bcmap',
    '200 cmaps/UniGB-UCS2-H.bcmap',
    '200 standard_fonts/FoxitDingbats.pfb',
    '200 wasm/openjpeg_nowasm_fallback.js',
  ])
  await page.context().close()
})

test('a long PDF is drawn as one scrolls', async ({ browser }) => {
  await send(13, receiptPdf(40))
  const page = await openList(browser)
  const viewer = await openReceipt(page, '$13.00')
  const first = viewer.getByRole('img', { name: 'Page 1 of 40' })
  await expect.poll(() => ink(first)).toBeGreaterThan(500)
  expect(await viewer.getByRole('img').count()).toBeLessThan(10)
  const last = viewer.getByRole('img', { name: 'Page 40 of 40' })
  const pages = viewer.getByRole('group', { name: `Receipt that ${person.username} sent` })
  await pages.focus()
  await expect(async () => {
    await page.keyboard.press('End')
    expect(await last.count()).toBe(1)
  }).toPass()
  await page.keyboard.press('End')
  await expect.poll(() => ink(last)).toBeGreaterThan(500)
  await expect.poll(() => first.evaluate((canvas: HTMLCanvasElement) => canvas.width)).toBe(0)
  await page.context().close()
})

test('a file that cannot be read says why, and can be opened elsewhere', async ({ browser }) => {
  const whole = receiptPdf(2)
  await send(14, whole.subarray(0, 120))
  await send(15, lockedPdf())
  const page = await openList(browser)
  for (const [amount, why] of [
    ['$14.00', 'This PDF is damaged and cannot be shown here.'],
    ['$15.00', 'This PDF is locked with a password.'],
  ] as const) {
    const viewer = await openReceipt(page, amount)
    await expect(viewer.getByRole('alert')).toHaveText(why)
    const signed = page
      .context()
      .waitForEvent('request', (request) => request.url().includes('/object/sign/'))
    await viewer.getByRole('button', { name: 'Open the PDF in a new window' }).click()
    expect((await signed).url()).toMatch(/\.pdf\?token=/)
    await page.bringToFront()
    await page.keyboard.press('Escape')
  }
  await page.context().close()
})

test('what was lost on its way is fetched again, with a signature of its own', async ({ browser }) => {
  await send(16, receiptPdf(1))
  const page = await openList(browser)
  let signatures = 0
  page.on('request', (request) => {
    if (request.method() === 'POST' && request.url().endsWith('/admin-get-receipt')) signatures += 1
  })
  await page.route('**/object/sign/**', (route) => route.abort(), { times: 1 })
  const viewer = await openReceipt(page, '$16.00')
  await expect.poll(() => ink(viewer.getByRole('img', { name: 'Page 1 of 1' }))).toBeGreaterThan(500)
  expect(signatures).toBe(2)
  await page.context().close()
})

test('who opens no PDF loads nothing of its reader', async ({ browser }) => {
  const member = await openAs(browser, person)
  const administrator = await openList(browser)
  const scripts: string[] = []
  for (const page of [member, administrator])
    page.on('response', (response) => {
      if (/\/assets\/.*\.m?js$/.test(response.url())) scripts.push(response.url())
    })
  for (const path of ['/', '/dashboard', '/deposit', '/transactions']) {
    await member.goto(path)
    await member.waitForLoadState('networkidle')
  }
  await administrator.reload()
  const viewer = await openReceipt(administrator, '$100.00')
  await expect(viewer.getByRole('img')).toBeVisible()
  expect(scripts.length).toBeGreaterThan(10)
  // Read anew: of a page that was left the browser no longer has what was just arriving.
  const texts = await Promise.all([...new Set(scripts)].map(async (script) => (await fetch(script)).text()))
  expect(texts.some((text) => text.includes('GlobalWorkerOptions'))).toBe(false)
  await member.context().close()
  await administrator.context().close()
})
