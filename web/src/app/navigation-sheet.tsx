import { Menu } from 'lucide-react'
import { useState, type ReactNode } from 'react'
import { NavLink } from 'react-router'
import { Button } from '@/components/ui/button'
import { Sheet, SheetContent, SheetTrigger } from '@/components/ui/sheet'
import { cn } from '@/lib/cn'

export interface NavigationLink {
  to: string
  label: string
}

/** The links of a header on small screens: a sheet from the left, titled 'Navigation'. */
export function NavigationSheet({ links, children }: { links: NavigationLink[]; children?: ReactNode }) {
  const [open, setOpen] = useState(false)
  return (
    <Sheet open={open} onOpenChange={setOpen}>
      <SheetTrigger asChild>
        <Button variant="ghost" size="icon" aria-label="Menu" className="lg:hidden">
          <Menu aria-hidden />
        </Button>
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
