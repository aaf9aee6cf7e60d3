/**
 * Takes pictures of screens into .output/screens: 1440 and 390 px wide, light and dark.
 * Usage: STACK_ENV=... npx tsx screens.ts [name ...]   (no name: all)
 */
import { mkdirSync } from 'node:fs'
import { chromium, type BrowserContext } from '@playwright/test'
import { browserOptions } from './playwright.config'
import {
  administratorKey,
  administratorSession,
  memberKey,
  memberSession,
  need,
  origin,
  stack,
} from './stack'

type Who = 'visitor' | 'member' | 'administrator'

const screens: { name: string; path: string; who: Who }[] = [
  { name: 'landing', path: '/', who: 'visitor' },
  { name: 'sign-in', path: '/sign-in', who: 'visitor' },
  { name: 'sign-in-redirect', path: '/sign-in?redirect=%2Fwithdraw', who: 'visitor' },
  { name: 'sign-up', path: `/sign-up?ref=${stack.DEMO_REFERRAL_CODE ?? ''}`, who: 'visitor' },
  { name: 'sign-up-no-code', path: '/sign-up', who: 'visitor' },
  { name: 'forgot-password', path: '/forgot-password', who: 'visitor' },
  { name: 'link-expired', path: '/link-expired', who: 'visitor' },
  { name: 'email-confirmed', path: '/email-confirmed', who: 'visitor' },
  { name: 'payouts', path: '/payouts', who: 'visitor' },
  { name: 'income-disclosure', path: '/income-disclosure', who: 'visitor' },
  { name: 'terms', path: '/terms', who: 'visitor' },
  { name: 'risk', path: '/risk', who: 'visitor' },
  { name: 'not-found', path: '/no-such-page', who: 'visitor' },
  { name: 'dashboard', path: '/dashboard', who: 'member' },
  { name: 'dashboard-pairing', path: '/dashboard?view=advanced&tab=pairing', who: 'member' },
  { name: 'dashboard-network', path: '/dashboard?view=advanced&tab=network', who: 'member' },
  { name: 'dashboard-tree', path: '/dashboard?view=advanced&tab=tree', who: 'member' },
  { name: 'dashboard-compact', path: '/dashboard?view=compact', who: 'member' },
  ...[
    'deposit',
    'withdraw',
    'transactions',
    'packages',
    'bots',
    'education',
    'profile',
    'settings',
    'notifications',
  ].map((name) => ({ name, path: `/${name}`, who: 'member' as const })),
  { name: 'admin-login', path: '/admin/login', who: 'visitor' },
  ...[
    'dashboard',
    'users',
    'bots',
    'transactions',
    'deposits',
    'withdrawals',
    'coverage',
    'audit',
    'settings',
    'administrators',
    'readiness',
  ].map((name) => ({ name: `admin-${name}`, path: `/admin/${name}`, who: 'administrator' as const })),
]

const widths = { 1440: 900, 390: 844 }
const wanted = process.argv.slice(2)
const folder = new URL('.output/screens/', import.meta.url).pathname
const sessions: Partial<Record<Who, [string, string]>> = {}

async function signedIn(who: Who): Promise<[string, string] | null> {
  if (who === 'visitor') return null
  if (who === 'member') {
    const session = await memberSession(need('DEMO_MEMBER_EMAIL'), need('DEMO_MEMBER_PASSWORD'))
    sessions.member ??= [memberKey, JSON.stringify(session)]
  } else {
    const session = await administratorSession(need('DEMO_ADMIN_EMAIL'), need('DEMO_ADMIN_PASSWORD'))
    sessions.administrator ??= [administratorKey, JSON.stringify(session)]
  }
  return sessions[who] ?? null
}

async function open(context: BrowserContext, name: string, path: string, file: string): Promise<void> {
  const page = await context.newPage()
  page.on('console', (message) => {
    if (message.type() === 'error') console.log(`  ${name}: ${message.text()}`)
  })
  page.on('pageerror', (error) => console.log(`  ${name}: ${error.message}`))
  await page.goto(origin + path, { waitUntil: 'networkidle' }).catch(() => null)
  await page.waitForTimeout(500)
  const overflow = await page.evaluate(
    () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
  )
  if (overflow > 0) console.log(`  ${file}: wider than the page by ${overflow} px`)
  await page.screenshot({ path: `${folder}${file}.png`, fullPage: true })
  await page.close()
}

mkdirSync(folder, { recursive: true })
const browser = await chromium.launch(browserOptions)
try {
  const chosen = screens.filter(({ name }) => wanted.length === 0 || wanted.includes(name))
  for (const who of ['visitor', 'member', 'administrator'] as const) {
    const mine = chosen.filter((screen) => screen.who === who)
    if (mine.length === 0) continue
    const session = await signedIn(who)
    for (const [width, height] of Object.entries(widths)) {
      for (const colorScheme of ['light', 'dark'] as const) {
        const context = await browser.newContext({
          viewport: { width: Number(width), height },
          colorScheme,
          reducedMotion: 'reduce',
          timezoneId: 'Europe/Berlin',
        })
        if (session) {
          await context.addInitScript(([key, value]) => localStorage.setItem(key, value), session)
        }
        for (const { name, path } of mine) await open(context, name, path, `${name}-${width}-${colorScheme}`)
        await context.close()
      }
    }
  }
} finally {
  await browser.close()
}
