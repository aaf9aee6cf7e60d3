import type { ComponentType } from 'react'
import {
  createBrowserRouter,
  matchRoutes,
  Navigate,
  redirectDocument,
  RouterProvider,
  type RouteObject,
} from 'react-router'
import { paths } from '@/lib/paths'
import { RouteFault } from './route-fault'
import { SiteShell } from './site-shell'
import { Waiting } from './waiting'

type Loader = () => Promise<{ default: ComponentType }>

/** A page whose code is fetched when it is first opened. */
function page(path: string, load: Loader): RouteObject {
  return { path, lazy: async () => ({ Component: (await load()).default }) }
}

const visitorPages = [
  page(paths.signIn, () => import('@/routes/sign-in')),
  page(paths.signUp, () => import('@/routes/sign-up')),
  page(paths.forgotPassword, () => import('@/routes/forgot-password')),
  page(paths.resetPassword, () => import('@/routes/reset-password')),
  page(paths.emailConfirmed, () => import('@/routes/email-confirmed')),
  page(paths.linkExpired, () => import('@/routes/link-expired')),
  page(paths.confirm, () => import('@/routes/auth/confirm')),
  page(paths.payouts, () => import('@/routes/payouts')),
  page(paths.incomeDisclosure, () => import('@/routes/income-disclosure')),
  page(paths.terms, () => import('@/routes/terms')),
  page(paths.risk, () => import('@/routes/risk')),
]

const memberPages = [
  page(paths.dashboard, () => import('@/routes/dashboard')),
  page(paths.education, () => import('@/routes/education')),
  page(paths.bots, () => import('@/routes/bots')),
  page(paths.transactions, () => import('@/routes/transactions')),
  page(paths.packages, () => import('@/routes/packages')),
  page(paths.profile, () => import('@/routes/profile')),
  page(paths.settings, () => import('@/routes/settings')),
  page(paths.deposit, () => import('@/routes/deposit')),
  page(paths.withdraw, () => import('@/routes/withdraw')),
  page(paths.notifications, () => import('@/routes/notifications')),
]

const administratorPages = [
  page(paths.admin.dashboard, () => import('@/routes/admin/dashboard')),
  page(paths.admin.users, () => import('@/routes/admin/users')),
  page(paths.admin.bots, () => import('@/routes/admin/bots')),
  page(paths.admin.transactions, () => import('@/routes/admin/transactions')),
  page(paths.admin.deposits, () => import('@/routes/admin/deposits')),
  page(paths.admin.withdrawals, () => import('@/routes/admin/withdrawals')),
  page(paths.admin.corrections, () => import('@/routes/admin/corrections')),
  page(paths.admin.alarms, () => import('@/routes/admin/alarms')),
  page(paths.admin.coverage, () => import('@/routes/admin/coverage')),
  page(paths.admin.audit, () => import('@/routes/admin/audit')),
  page(paths.admin.settings, () => import('@/routes/admin/settings')),
  page(paths.admin.administrators, () => import('@/routes/admin/administrators')),
  page(paths.admin.readiness, () => import('@/routes/admin/readiness')),
]

export const routes: RouteObject[] = [
  // A document of its own (landing.tsx).
  { path: paths.home, loader: () => redirectDocument(paths.home) },
  {
    ErrorBoundary: RouteFault,
    // Only where the first page's code did not arrive with the others.
    HydrateFallback: Waiting,
    children: [
      {
        Component: SiteShell,
        children: [
          {
            ErrorBoundary: RouteFault,
            children: [
              ...visitorPages,
              {
                lazy: async () => ({ Component: (await import('./member-guard')).MemberGuard }),
                children: memberPages,
              },
              page('*', () => import('@/routes/not-found')),
            ],
          },
        ],
      },
      page(paths.admin.login, () => import('@/routes/admin/login')),
      { path: '/admin', element: <Navigate to={paths.admin.dashboard} replace /> },
      {
        lazy: async () => ({ Component: (await import('./admin-shell')).AdminShell }),
        children: [
          {
            ErrorBoundary: RouteFault,
            children: [...administratorPages, page('/admin/*', () => import('@/routes/not-found'))],
          },
        ],
      },
    ],
  },
]

/** Fetches the code of the page that the address names, so that its first drawing is the whole page. */
async function loadPage(): Promise<void> {
  const matches = matchRoutes(routes, location) ?? []
  await Promise.all(
    matches.map(async ({ route }) => {
      if (typeof route.lazy === 'function') Object.assign(route, await route.lazy(), { lazy: undefined })
    }),
  )
}

export async function openRouter() {
  // What does not arrive now is asked for again by the router, which says so when it fails.
  await loadPage().catch((error: unknown) => console.error(error))
  const router = createBrowserRouter(routes)
  return {
    pages: <RouterProvider router={router} />,
    onOpen: (address: string) => void router.navigate(address, { replace: true }),
  }
}
