import { useState } from 'react'
import { Sheet, SheetContent, SheetTrigger } from '@/components/ui/sheet'
import { MenuButton, type NavigationSheetProps } from './menu-button'

/** Opens as soon as it is there: it was asked for. */
export default function NavigationPanel({ link: Link, links, children }: NavigationSheetProps) {
  const [open, setOpen] = useState(true)
  return (
    <Sheet open={open} onOpenChange={setOpen}>
      <SheetTrigger asChild>
        <MenuButton />
      </SheetTrigger>
      <SheetContent title="Navigation">
        <nav aria-label="Navigation" className="flex flex-col gap-1">
          {links.map((link) => (
            <Link
              key={link.to}
              to={link.to}
              onClick={() => setOpen(false)}
              className="flex min-h-11 items-center rounded-control px-3 text-lead font-medium hover:bg-muted aria-[current=page]:bg-accent aria-[current=page]:text-accent-foreground"
            >
              {link.label}
            </Link>
          ))}
        </nav>
        {children ? <div className="mt-4 flex flex-col gap-3 border-t pt-4">{children}</div> : null}
      </SheetContent>
    </Sheet>
  )
}
