import { ChevronDown } from 'lucide-react'
import type { ComponentProps } from 'react'
import { useLocation } from 'react-router'
import { Button } from '@/components/ui/button'
import { cn } from '@/lib/cn'
import { useAccount } from '@/lib/use-account'
import { headerItem } from './header-item'
import { memberPages, standsInHeader } from './member-pages'

/** Whose account it is. A name that is too long for the header stands in full in the menu. */
export function AccountButton({ className, ...rest }: ComponentProps<'button'>) {
  const { data } = useAccount()
  const name = data?.username ?? data?.displayName
  return (
    <Button
      variant="outline"
      size="compact"
      aria-label={name ? `Account: ${name}` : 'Account'}
      aria-haspopup="menu"
      className={cn(
        'max-w-26 min-w-26 justify-between gap-1.5 data-[state=open]:bg-accent xl:max-w-36',
        className,
      )}
      {...rest}
    >
      <span className="truncate">{name ?? 'Account'}</span>
      <ChevronDown className="size-4" aria-hidden />
    </Button>
  )
}

/** The pages that have no place in the header. One of them being open, the waterline is here. */
export function MoreButton({ className, ...rest }: ComponentProps<'button'>) {
  const { pathname } = useLocation()
  const inside = memberPages.some((page) => page.to === pathname && !standsInHeader(page))
  return (
    <button
      type="button"
      aria-haspopup="menu"
      className={cn(headerItem(inside), 'gap-1', className)}
      {...rest}
    >
      More
      <ChevronDown className="size-4" aria-hidden />
    </button>
  )
}
