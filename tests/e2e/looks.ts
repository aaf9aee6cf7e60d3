import { expect, type BrowserContext, type Locator, type Page } from '@playwright/test'
import { overflow, violations } from './accessibility'

export type Size = NonNullable<ReturnType<Page['viewportSize']>>

export const themes = ['light', 'dark'] as const
export const desk: Size = { width: 1440, height: 900 }
export const phone: Size = { width: 390, height: 844 }

/** Changes the system's theme under an open page, which must follow. */
export async function switchTo(page: Page, theme: (typeof themes)[number]): Promise<void> {
  await page.emulateMedia({ colorScheme: theme })
  await expect(page.locator('html')).toHaveClass(theme === 'dark' ? /\bdark\b/ : /^(?!.*\bdark\b)/)
}

/** What a page shows only once it is asked to: a dialog, a menu, a form with its errors. */
export interface Opening {
  name: string
  path: string
  /** Opens it, and says where it is then. */
  open: (page: Page) => Promise<Locator>
  /** The one width that has it. */
  only?: Size
  /** A narrow page has another layout, in which it has to be opened anew. */
  anew?: boolean
}

/** By how many pixels it reaches beyond the window, if it lies over the page, or beyond its own box. */
async function beyond(opened: Locator): Promise<number> {
  return opened.evaluate((element) => {
    const box = element.getBoundingClientRect()
    const over = element.matches('[role=dialog], [role=alertdialog], [role=menu], [role=listbox]')
      ? [-box.left, -box.top, box.right - innerWidth, box.bottom - innerHeight]
      : []
    const inside = [element, ...Array.from(element.querySelectorAll('*'))]
      .filter((one) => /auto|scroll/.test(getComputedStyle(one).overflowX))
      .map((one) => one.scrollWidth - one.clientWidth)
    return Math.round(Math.max(0, ...over, ...inside))
  })
}

async function check(page: Page, opened: Locator, name: string): Promise<void> {
  const width = page.viewportSize()?.width
  await expect.soft(opened, `${name} is not there at ${width} px`).toBeVisible()
  for (const theme of themes) {
    await switchTo(page, theme)
    const said = `${name} at ${width} px in ${theme}`
    const found = await violations(page, theme === 'light' ? 'all' : 'colours', opened)
    expect.soft(found, said).toEqual([])
    // Only when asked: `npm run screens`.
    if (process.env.SCREENS) await page.screenshot({ path: `.output/screens/${said}.png` })
  }
  await switchTo(page, 'light')
  await expect.soft.poll(() => overflow(page), `${name} makes the page wider than ${width} px`).toBe(0)
  await expect.soft.poll(() => beyond(opened), `${name} does not fit ${width} px`).toBe(0)
}

/** Opens each, and looks at it at both widths and in both themes; pages.spec.ts looks at the page beneath. */
export async function checkEach(context: BrowserContext, openings: Opening[]): Promise<void> {
  for (const { name, path, open, only, anew = false } of openings) {
    let [page, opened]: [Page?, Locator?] = []
    for (const size of only ? [only] : [desk, phone]) {
      if (!page || !opened || anew) {
        await page?.close()
        page = await context.newPage()
        await page.setViewportSize(size)
        await page.goto(path)
        opened = await open(page)
      }
      await page.setViewportSize(size)
      await check(page, opened, name)
    }
    await page?.close()
  }
}

export const press = (page: Page, name: string | RegExp) =>
  page.getByRole('button', { name, exact: true }).click()

export const dialog = (page: Page, name?: string | RegExp) => page.getByRole('dialog', { name })

/** What a press on the first such button opens. */
export function pressed(
  button: string | RegExp,
  role: 'dialog' | 'menu',
  name?: string | RegExp,
): Opening['open'] {
  return async (page) => {
    await page.getByRole('button', { name: button, exact: true }).first().click()
    return page.getByRole(role, { name })
  }
}

/** A form that was sent with mistakes in several fields. */
export function sent(button: string, fill: (page: Page) => Promise<unknown>): Opening['open'] {
  return async (page) => {
    await fill(page)
    await page.getByRole('button', { name: button, exact: true }).click()
    const errors = page.getByRole('group', { name: 'What to correct' })
    await expect(errors).toBeVisible()
    return page.locator('form').filter({ has: errors })
  }
}

/** A dialog that was sent without its reason. */
export function unreasoned(open: Opening['open'], confirm: string): Opening['open'] {
  return async (page) => {
    const opened = await open(page)
    await opened.getByRole('button', { name: confirm, exact: true }).click()
    await expect(opened.getByText('Give a reason.')).toBeVisible()
    return opened
  }
}
