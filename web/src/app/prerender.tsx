import { StrictMode } from 'react'
import { prerender } from 'react-dom/static'
import { createStaticHandler, createStaticRouter, StaticRouterProvider } from 'react-router'
import { builtInPlatform, platformQuery } from '@/lib/platform'
import { paths } from '@/lib/paths'
import { AdminWaiting } from './admin-waiting'
import { App } from './app'
import { Landing } from './landing'
import { queryClient } from './query-client'
import { routes } from './router'

export { allPages, isMemberPage, paths } from '@/lib/paths'
export { firstCallOf, pageHeads, previewOf } from './page-heads'
export const productName = builtInPlatform.product_name

async function pageOf(path: string) {
  if (path === paths.home) return <Landing />
  // An administrator's page shows nothing of itself to who is not signed in, as the build is not.
  if (path.startsWith('/admin/') && path !== paths.admin.login) return <AdminWaiting />
  const handler = createStaticHandler(routes)
  const context = await handler.query(new Request(`http://localhost${path}`))
  if (context instanceof Response) throw new Error(`${path} leads elsewhere.`)
  const router = createStaticRouter(handler.dataRoutes, context)
  return <StaticRouterProvider router={router} context={context} hydrate={false} />
}

/** The HTML of a page as somebody sees it of whom nothing is known. */
export async function render(path: string): Promise<string> {
  queryClient.setQueryData(platformQuery.queryKey, builtInPlatform)
  const pages = await pageOf(path)
  const { prelude } = await prerender(
    <StrictMode>
      <App pages={pages} onOpen={() => undefined} />
    </StrictMode>,
  )
  return new Response(prelude).text()
}
