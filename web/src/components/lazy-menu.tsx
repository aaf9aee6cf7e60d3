import { Suspense, useState, type ComponentProps, type ComponentType, type ReactNode } from 'react'

interface LazyMenuProps {
  button: ComponentType<ComponentProps<'button'>>
  /** The menu or sheet with its button, lazy, and open from the start: it was asked for. */
  children: ReactNode
}

/** What a button opens, whose code is fetched when it is first opened. */
export function LazyMenu({ button: MenuButton, children }: LazyMenuProps) {
  const [asked, setAsked] = useState(false)
  if (!asked) return <MenuButton onClick={() => setAsked(true)} />
  return <Suspense fallback={<MenuButton />}>{children}</Suspense>
}
