// Pages in a real browser on a slow phone's network; `bench_web.py` says which and reads the JSON.
//
// Slow 4G is applied to the connection (562.5 ms, 1.44 Mbit/s), not computed afterwards, and each load is a browser's
// first. Lighthouse runs beside it, with its own settings for a phone.

import lighthouse from 'lighthouse'
import puppeteer from 'puppeteer-core'

const SLOW_4G = {
  offline: false,
  latency: 562.5,
  downloadThroughput: (1474.56 * 1024) / 8,
  uploadThroughput: (675 * 1024) / 8,
}
const PHONE = { width: 412, height: 823, deviceScaleFactor: 1.75, isMobile: true, hasTouch: true }
const SETTLED_MS = 2500
const PATIENCE_MS = 45_000

/** Runs in the page before anything else: what was painted when, and what moved. */
function observe(awaited) {
  const seen = (globalThis.SEEN = { paint: 0, largest: 0, moved: 0, awaited: 0 })
  const watch = (type, note) =>
    new PerformanceObserver((list) => list.getEntries().forEach(note)).observe({ type, buffered: true })
  watch('paint', (entry) => {
    if (entry.name === 'first-contentful-paint') seen.paint = entry.startTime
  })
  watch('largest-contentful-paint', (entry) => (seen.largest = entry.startTime))
  watch('layout-shift', (entry) => {
    if (!entry.hadRecentInput) seen.moved += entry.value
  })
  if (!awaited) return
  const look = () => {
    const found = document.querySelector(awaited)?.closest('section')?.textContent.match(/\$\d/)
    if (found) seen.awaited = performance.now()
    else requestAnimationFrame(look)
  }
  look()
}

function open(chromium, defaultViewport) {
  return puppeteer.launch({ executablePath: chromium, args: ['--no-sandbox'], defaultViewport })
}

/** Leaves a session where the app keeps it, without loading the app. */
async function remember(browser, { origin, wanted }) {
  if (!wanted.stored) return
  const page = await browser.newPage()
  await page.goto(`${origin}/robots.txt`)
  await page.evaluate((stored) => {
    for (const [key, value] of Object.entries(stored)) localStorage.setItem(key, value)
  }, wanted.stored)
  await page.close()
}

async function loadOnce({ origin, wanted, chromium }) {
  const browser = await open(chromium, PHONE)
  try {
    await remember(browser, { origin, wanted })
    const page = await browser.newPage()
    const network = await page.createCDPSession()
    const kinds = new Map()
    const headers = new Map()
    const total = { requests: 0, script: 0, bytes: 0 }
    network.on('Network.requestWillBeSent', (sent) => {
      if (!sent.request.url.startsWith('http')) return
      kinds.set(sent.requestId, sent.type)
      total.requests += 1
    })
    network.on('Network.responseReceived', ({ requestId, response }) => {
      headers.set(requestId, response.encodedDataLength)
    })
    network.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
      if (!kinds.has(requestId)) return
      total.bytes += encodedDataLength
      if (kinds.get(requestId) === 'Script') total.script += encodedDataLength - headers.get(requestId)
    })
    await network.send('Network.enable')
    await network.send('Network.setCacheDisabled', { cacheDisabled: false })
    await network.send('Network.clearBrowserCache')
    await network.send('Network.emulateNetworkConditions', SLOW_4G)
    await page.evaluateOnNewDocument(observe, wanted.awaited ?? null)
    await page.goto(`${origin}${wanted.path}`, { waitUntil: 'networkidle0', timeout: PATIENCE_MS })
    await new Promise((resolve) => setTimeout(resolve, SETTLED_MS))
    return { ...(await page.evaluate(() => globalThis.SEEN)), ...total }
  } finally {
    await browser.close()
  }
}

async function score({ origin, wanted, chromium }) {
  // Lighthouse sets the size itself.
  const browser = await open(chromium, null)
  try {
    await remember(browser, { origin, wanted })
    const port = new URL(browser.wsEndpoint()).port
    const flags = { port, onlyCategories: ['performance'], disableStorageReset: true, logLevel: 'error' }
    const { lhr } = await lighthouse(`${origin}${wanted.path}`, flags)
    return { score: lhr.categories.performance.score * 100, version: lhr.lighthouseVersion }
  } finally {
    await browser.close()
  }
}

let input = ''
for await (const part of process.stdin) input += part
const wish = JSON.parse(input)
const rows = []
for (let round = 0; round < wish.rounds; round += 1) {
  for (const wanted of wish.pages) {
    const seen = await loadOnce({ ...wish, wanted })
    const scored = wanted.score ? await score({ ...wish, wanted }) : {}
    rows.push({ path: wanted.path, ...seen, ...scored })
  }
}
console.log(JSON.stringify(rows))
