import { useState } from 'react'
import { NavLink } from 'react-router'
import { Sheet, SheetContent, SheetTrigger } from '@/components/ui/sheet'
import { cn } from '@/lib/cn'
import { MenuButton, type NavigationSheetProps } from './menu-button'

/** Opens as soon as it is there: it was asked for. */
export default function NavigationPanel({ links, children }: NavigationSheetProps) {
  const [open, setOpen] = useState(true)
  return (
    <Sheet open={open} onOpenChange={setOpen}>
      <SheetTrigger asChild>
        <MenuButton />
      </SheetTrigger>
      <SheetContent title="Navigation">
        <nav aria-label="Navigation" className="flex flex-col gap-1">
          {links.map((link) => (
            <NavLink
              key={link.to}
              to={link.to}
              end
              onClick={() => setOpen(false)}
              className={({ isActive }) =>
                cn(
                  'flex min-h-11 items-center rounded-control px-3 text-lead font-medium hover:bg-muted',
                  isActive && 'bg-accent text-accent-foreground',
                )
              }
            >
              {link.label}
            </NavLink>
          ))}
        </nav>
        {children ? <div className="mt-4 flex flex-col gap-3 border-t pt-4">{children}</div> : null}
      </SheetContent>
    </Sheet>
  )
}
