import { paths } from '@/lib/paths'

interface PageHeadTexts {
  title: string
  description: string
}

/** What search engines and shared links show of the public pages. */
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
      'Sign up with the referral code of a member. You can lose all the money you pay for a package.',
  },
  [paths.forgotPassword]: {
    title: 'Forgot your password?',
    description: 'Have a link sent that lets you set a new password.',
  },
  [paths.payouts]: {
    title: 'Where payouts come from',
    description: 'What happens to the $1,000.00 somebody pays for a package, in full.',
  },
  [paths.incomeDisclosure]: {
    title: 'Income disclosure',
    description: 'What members received, with all of them counted.',
  },
  [paths.terms]: { title: 'Terms', description: 'What you and the operator agree on.' },
  [paths.risk]: { title: 'Risk', description: 'What you can lose, and why.' },
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
