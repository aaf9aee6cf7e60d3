import { lazy, Suspense, useState } from 'react'
import { ThemeButton } from './theme-button'

const ThemeMenuList = lazy(() => import('./theme-menu-list'))

/** System, light or dark. The menu's code is fetched when it is first opened. */
export function ThemeMenu() {
  const [asked, setAsked] = useState(false)
  if (!asked) return <ThemeButton onClick={() => setAsked(true)} />
  return (
    <Suspense fallback={<ThemeButton />}>
      <ThemeMenuList />
    </Suspense>
  )
}
