import { lazy, Suspense, useState } from 'react'
import { MenuButton, type NavigationSheetProps } from './menu-button'

const NavigationPanel = lazy(() => import('./navigation-panel'))

/**
 * The links of a header on small screens: a sheet from the left, titled 'Navigation', whose code is fetched
 * when it is first opened.
 */
export function NavigationSheet(props: NavigationSheetProps) {
  const [asked, setAsked] = useState(false)
  if (!asked) return <MenuButton onClick={() => setAsked(true)} />
  return (
    <Suspense fallback={<MenuButton />}>
      <NavigationPanel {...props} />
    </Suspense>
  )
}
