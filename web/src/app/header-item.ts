import { cn } from '@/lib/cn'

/** The looks of one place in the header: the waterline stands under the page that is open. */
export function headerItem(open: boolean): string {
  return cn(
    'relative flex items-center rounded-badge px-0.5 text-compact font-medium whitespace-nowrap text-muted-foreground -outline-offset-2 after:absolute after:inset-x-0 after:-bottom-px after:h-[3px] hover:text-foreground xl:text-body',
    open && 'font-semibold text-foreground after:bg-primary',
  )
}
