import * as Primitive from 'radix-ui/tabs'
import type { ComponentProps } from 'react'
import { cn } from '@/lib/cn'

export const Tabs = Primitive.Root

export function TabsList({ className, ...rest }: ComponentProps<typeof Primitive.List>) {
  return <Primitive.List className={cn('flex gap-6 overflow-x-auto border-b', className)} {...rest} />
}

/** The waterline under the active tab is 3 px of brand. */
export function TabsTrigger({ className, ...rest }: ComponentProps<typeof Primitive.Trigger>) {
  return (
    <Primitive.Trigger
      className={cn(
        'relative min-h-11 shrink-0 rounded-badge text-body font-medium text-muted-foreground whitespace-nowrap -outline-offset-2 after:absolute after:inset-x-0 after:bottom-0 after:h-[3px] hover:text-foreground data-[state=active]:font-semibold data-[state=active]:text-foreground data-[state=active]:after:bg-primary',
        className,
      )}
      {...rest}
    />
  )
}

export function TabsContent({ className, ...rest }: ComponentProps<typeof Primitive.Content>) {
  return <Primitive.Content className={cn('pt-6', className)} {...rest} />
}
