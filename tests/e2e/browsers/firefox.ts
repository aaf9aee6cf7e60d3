import { launch } from 'puppeteer-core'
import { patience, type Visitor } from './visitor'

/** Debian's Firefox, which speaks WebDriver BiDi itself. */
export async function openFirefox(): Promise<Visitor> {
  const browser = await launch({ browser: 'firefox', executablePath: '/usr/bin/firefox-esr', headless: true })
  const page = await browser.newPage()
  page.setDefaultTimeout(patience)
  const found = (part: string) => page.locator(`::-p-xpath(${part})`)
  return {
    open: async (address) => void (await page.goto(address)),
    see: async (part) => void (await found(part).wait()),
    press: (part) => found(part).click(),
    type: (part, text) => found(part).fill(text),
    attach: async (part, file) => {
      const input = await page.waitForSelector(`::-p-xpath(${part})`)
      await (input as unknown as { uploadFile: (path: string) => Promise<void> }).uploadFile(file)
    },
    close: () => browser.close(),
  }
}
