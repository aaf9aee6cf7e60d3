import { lazy, Suspense, useState } from 'react'
import { ViewButton, type ViewMenuProps } from './view-button'

const ViewMenuList = lazy(() => import('./view-menu-list'))

/** The earlier dashboard is one step further away. The menu's code is fetched when it is first opened. */
export function ViewMenu(props: ViewMenuProps) {
  const [asked, setAsked] = useState(false)
  if (!asked) return <ViewButton onClick={() => setAsked(true)} />
  return (
    <Suspense fallback={<ViewButton />}>
      <ViewMenuList {...props} />
    </Suspense>
  )
}
