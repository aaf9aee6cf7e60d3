import type { Page } from '@playwright/test'
import { untilAlive } from './alive'
import { need } from './stack'

interface Mail {
  subject: string
  html: string
  text: string
}

/** Waits for a mail to this address whose subject matches, and gives the newest one. */
export async function mailTo(address: string, subject: RegExp, patience = 20_000): Promise<Mail> {
  const until = Date.now() + patience
  while (Date.now() < until) {
    // Chosen by the catcher: it also holds what parallel suites caused.
    const response = await fetch(`${need('MAIL_URL')}/email?to.address=${encodeURIComponent(address)}`)
    const mails = response.ok ? ((await response.json()) as Mail[]) : []
    const newest = mails.findLast((mail) => subject.test(mail.subject))
    if (newest) return newest
    await new Promise((resolve) => setTimeout(resolve, 300))
  }
  throw new Error(`No mail to ${address} with subject ${subject}`)
}

/** The page that a mail's link opens. */
export function linkOf(mail: Mail): string {
  const link =
    /href="([^"]*\/auth\/confirm\?[^"]*)"/.exec(mail.html)?.[1] ??
    /(https?:\S*\/auth\/confirm\?\S+)/.exec(mail.text)?.[1]
  if (!link) throw new Error(`No link in the mail ${mail.subject}`)
  return link.replaceAll('&amp;', '&')
}

/** Opens a mail's link and presses what its page asks for. */
export async function openLink(page: Page, mail: Mail): Promise<void> {
  await page.goto(linkOf(mail))
  await untilAlive(page)
  await page.locator('main').getByRole('button').press('Enter')
  await page.waitForURL((url) => url.pathname !== '/auth/confirm')
}
