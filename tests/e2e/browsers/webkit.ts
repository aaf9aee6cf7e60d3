import { spawn, type ChildProcess } from 'node:child_process'
import { createServer, type AddressInfo } from 'node:net'
import { Builder, By, Capabilities, until, type WebDriver, type WebElement } from 'selenium-webdriver'
import { patience, type Visitor } from './visitor'

const server = '/usr/bin/WebKitWebDriver'
const binary = '/usr/lib/x86_64-linux-gnu/webkit2gtk-4.1/MiniBrowser'

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const listener = createServer().listen(0, '127.0.0.1', () => {
      const { port } = listener.address() as AddressInfo
      listener.close(() => resolve(port))
    })
  })
}

/** A display without a screen; it says its number once it is there. */
async function openDisplay(): Promise<[ChildProcess, string]> {
  const display = spawn('Xvfb', ['-displayfd', '3', '-screen', '0', '1280x900x24', '-nolisten', 'tcp'], {
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
  })
  const number = await new Promise<string>((resolve, reject) => {
    display.once('error', reject)
    display.stdio[3]?.once('data', (said: Buffer) => resolve(said.toString().trim()))
  })
  return [display, `:${number}`]
}

function connect(port: number): Promise<WebDriver> {
  const wanted = new Capabilities({
    browserName: 'MiniBrowser',
    'webkitgtk:browserOptions': { binary, args: ['--automation'] },
  })
  return Promise.resolve(
    new Builder().usingServer(`http://127.0.0.1:${port}`).withCapabilities(wanted).build(),
  )
}

/** Whether an element could be clicked by now: it may still be moving, or be drawn anew. */
async function pressed(element: WebElement): Promise<boolean> {
  try {
    // The driver sometimes scrolls nothing into the window after another press, however often it is asked.
    await element.getDriver().executeScript('arguments[0].scrollIntoView({ block: "center" })', element)
    await element.click()
    return true
  } catch (failure) {
    const { name } = failure as Error
    if (/NotInteractable|ClickIntercepted|StaleElement/.test(name)) return false
    throw failure
  }
}

/** Debian's WebKit in its small browser. */
export async function openWebKit(): Promise<Visitor> {
  const [display, name] = await openDisplay()
  const port = await freePort()
  const processes = [
    display,
    spawn(server, [`--port=${port}`, '--host=127.0.0.1'], {
      env: { ...process.env, DISPLAY: name, GDK_BACKEND: 'x11' },
      stdio: 'ignore',
    }),
  ]
  const end = () => processes.forEach((one) => one.kill())
  const driver = await connect(port).catch((error: unknown) => {
    end()
    throw error
  })
  const found = (part: string): Promise<WebElement> =>
    driver.wait(until.elementLocated(By.xpath(part)), patience)
  return {
    open: (address) => driver.get(address),
    see: async (part) => void (await driver.wait(until.elementIsVisible(await found(part)), patience)),
    press: async (part) => void (await driver.wait(async () => pressed(await found(part)), patience)),
    type: async (part, text) => (await found(part)).sendKeys(text),
    attach: async (part, file) => (await found(part)).sendKeys(file),
    close: async () => {
      await driver.quit()
      end()
    },
  }
}
