import { lazy } from 'react'
import { LazyMenu } from '@/components/lazy-menu'
import { MenuButton, type NavigationSheetProps } from './menu-button'

const NavigationPanel = lazy(() => import('./navigation-panel'))

/** The links of a header on small screens: a sheet from the left, titled 'Navigation'. */
export function NavigationSheet(props: NavigationSheetProps) {
  return (
    <LazyMenu button={MenuButton}>
      <NavigationPanel {...props} />
    </LazyMenu>
  )
}
