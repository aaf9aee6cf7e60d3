import { lazy } from 'react'
import { LazyMenu } from '@/components/lazy-menu'
import { ThemeButton } from './theme-button'

const ThemeMenuList = lazy(() => import('./theme-menu-list'))

/** System, light or dark. */
export function ThemeMenu() {
  return (
    <LazyMenu button={ThemeButton}>
      <ThemeMenuList />
    </LazyMenu>
  )
}
