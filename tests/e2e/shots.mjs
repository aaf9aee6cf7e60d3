import { chromium } from '@playwright/test'
const [,, path, name, ...rest] = process.argv
const origin = process.env.ORIGIN
const b = await chromium.launch({ executablePath: '/usr/bin/chromium-headless-shell', args: ['--no-sandbox'] })
for (const [w, h] of [[1440, 1000], [390, 844]]) for (const scheme of ['light', 'dark']) {
  const p = await b.newPage({ viewport: { width: w, height: h }, colorScheme: scheme, reducedMotion: 'reduce' })
  await p.goto(origin + path); await p.waitForTimeout(1200)
  const wide = await p.evaluate(() => document.documentElement.scrollWidth)
  console.log(w, scheme, wide)
  await p.screenshot({ path: `/tmp/shot-${name}-${w}-${scheme}.png`, fullPage: rest.includes('full') })
  await p.close()
}
await b.close()
