import { Menu } from 'lucide-react'
import type { ComponentProps, ReactNode } from 'react'
import { Button } from '@/components/ui/button'
import type { PageLink } from './plain-link'

export interface NavigationLink {
  to: string
  label: string
}

export interface NavigationSheetProps {
  link: PageLink
  links: NavigationLink[]
  /** What stands below the links. */
  children?: ReactNode
}

export function MenuButton(props: ComponentProps<'button'>) {
  return (
    <Button
      variant="ghost"
      size="icon"
      aria-label="Menu"
      aria-haspopup="dialog"
      className="lg:hidden"
      {...props}
    >
      <Menu aria-hidden />
    </Button>
  )
}
