import * as Primitive from 'radix-ui/popover'
import type { ComponentProps } from 'react'
import { cn } from '@/lib/cn'

export const Popover = Primitive.Root
export const PopoverTrigger = Primitive.Trigger

export function PopoverContent({ className, ...rest }: ComponentProps<typeof Primitive.Content>) {
  return (
    <Primitive.Portal>
      <Primitive.Content
        sideOffset={6}
        collisionPadding={16}
        className={cn(
          'z-50 w-80 max-w-[calc(100vw-32px)] animate-popover-in rounded-control border bg-popover p-4 text-compact shadow-popover',
          className,
        )}
        {...rest}
      />
    </Primitive.Portal>
  )
}
