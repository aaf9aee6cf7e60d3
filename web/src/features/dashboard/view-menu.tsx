import { lazy } from 'react'
import { LazyMenu } from '@/components/lazy-menu'
import { ViewButton, type ViewMenuProps } from './view-button'

const ViewMenuList = lazy(() => import('./view-menu-list'))

/** The earlier dashboard is one step further away. */
export function ViewMenu(props: ViewMenuProps) {
  return (
    <LazyMenu button={ViewButton}>
      <ViewMenuList {...props} />
    </LazyMenu>
  )
}
