import { expect, test, type Page } from '@playwright/test'
import { administratorKey, administratorSession, memberKey, memberSession, need, stack } from '../stack'

// Pictures of every screen, 1440 and 390 px wide, light and dark, into .output/screens, to be looked at.
// Taken on the way: nothing is wider than the page, and no page logs an error of its own.
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

/** What the app finds in local storage when this person opens it. */
async function storedSession(who: Who): Promise<[string, string] | null> {
  if (who === 'visitor') return null
  if (who === 'member') {
    const session = await memberSession(need('DEMO_MEMBER_EMAIL'), need('DEMO_MEMBER_PASSWORD'))
    return [memberKey, JSON.stringify(session)]
  }
  const session = await administratorSession(need('DEMO_ADMIN_EMAIL'), need('DEMO_ADMIN_PASSWORD'))
  return [administratorKey, JSON.stringify(session)]
}

async function picture(page: Page, path: string, file: string): Promise<void> {
  await page.goto(path, { waitUntil: 'networkidle' })
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible()
  const wider = await page.evaluate(
    () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
  )
  expect(wider, `${file} is wider than the page`).toBe(0)
  await page.screenshot({ path: `.output/screens/${file}.png`, fullPage: true })
}

for (const who of ['visitor', 'member', 'administrator'] as const) {
  for (const [width, height] of Object.entries(widths)) {
    for (const colorScheme of ['light', 'dark'] as const) {
      test(`screens of a ${who}, ${width} px, ${colorScheme}`, async ({ browser }) => {
        test.setTimeout(240_000)
        const context = await browser.newContext({
          viewport: { width: Number(width), height },
          colorScheme,
          reducedMotion: 'reduce',
          timezoneId: 'Europe/Berlin',
        })
        const session = await storedSession(who)
        if (session) await context.addInitScript(([key, value]) => localStorage.setItem(key, value), session)
        const page = await context.newPage()
        const errors: string[] = []
        page.on('pageerror', (error) => errors.push(error.message))
        page.on('console', (message) => message.type() === 'error' && errors.push(message.text()))
        for (const { name, path } of screens.filter((screen) => screen.who === who)) {
          await picture(page, path, `${name}-${width}-${colorScheme}`)
        }
        expect(errors).toEqual([])
        await context.close()
      })
    }
  }
}
