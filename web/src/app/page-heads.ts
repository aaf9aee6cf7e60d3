import { paths } from '@/lib/paths'

interface PageHeadTexts {
  title: string
  description: string
}

/**
 * What search engines and shared links show of the public pages. Each has a picture, public/previews/<name>.png, which
 * tests/e2e draws from these texts (`npm run previews`).
 */
export const pageHeads: Readonly<Record<string, PageHeadTexts>> = {
  [paths.home]: {
    title: '',
    description:
      'Trading tools, automation and a referral plan you can check. You can lose all the money you pay for a package.',
  },
  [paths.signIn]: { title: 'Sign in', description: 'Sign in to your account.' },
  [paths.signUp]: {
    title: 'Create your account',
    description:
      'Somebody invited you? See who, and read the risk first. You can lose all the money you pay for a package.',
  },
  [paths.forgotPassword]: {
    title: 'Forgot your password?',
    description: 'We’ll email you a link to set a new password.',
  },
  [paths.payouts]: {
    title: 'Where payouts come from',
    description: 'Every bonus is a share of another member’s package. See who gets what of it.',
  },
  [paths.incomeDisclosure]: {
    title: 'Income disclosure',
    description: 'What members received, including those who received nothing.',
  },
  [paths.terms]: { title: 'Terms', description: 'What you and the operator agree on.' },
  [paths.risk]: { title: 'Risk', description: 'What you can lose, and why.' },
}

/** The picture of a public page's link preview, as a path of the site. */
export function previewOf(path: string): string {
  return `/previews/${path === paths.home ? 'home' : path.slice(1)}.png`
}

interface FirstCall {
  /** A function without arguments. */
  call: string
  realm: 'member' | 'administrator'
}

/** What a page asks first with a stored session, named in its HTML and asked by /config.js. */
export function firstCallOf(path: string): FirstCall | null {
  const calls: Partial<Record<string, string>> = {
    [paths.dashboard]: 'get_member_dashboard',
    [paths.deposit]: 'get_deposit_options',
    [paths.withdraw]: 'get_withdraw_options',
  }
  const call = calls[path]
  if (call) return { call, realm: 'member' }
  const administrators = path.startsWith('/admin/') && path !== paths.admin.login
  return administrators ? { call: 'get_admin_overview', realm: 'administrator' } : null
}
