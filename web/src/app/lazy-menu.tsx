import { Suspense, useState, type ComponentProps, type ComponentType } from 'react'

interface LazyMenuProps {
  button: ComponentType<ComponentProps<'button'>>
  /** The menu with its button, open from the start: it was asked for. */
  menu: ComponentType
}

/** A menu whose code is fetched when it is first opened. */
export function LazyMenu({ button: MenuButton, menu: Menu }: LazyMenuProps) {
  const [asked, setAsked] = useState(false)
  if (!asked) return <MenuButton onClick={() => setAsked(true)} />
  return (
    <Suspense fallback={<MenuButton />}>
      <Menu />
    </Suspense>
  )
}
