import * as Primitive from 'radix-ui/popover'
import { useState } from 'react'
import { cn } from '@/lib/cn'
import type { PopoverProps } from './popover'

/** Opens as soon as it is there: it was asked for. */
export default function PopoverPanel({ trigger, className, children, ...rest }: PopoverProps) {
  const [open, setOpen] = useState(true)
  return (
    <Primitive.Root open={open} onOpenChange={setOpen}>
      <Primitive.Trigger asChild>{trigger}</Primitive.Trigger>
      <Primitive.Portal>
        <Primitive.Content
          sideOffset={6}
          collisionPadding={16}
          className={cn(
            'z-50 w-80 max-w-[calc(100vw-32px)] animate-popover-in rounded-control border bg-popover p-4 text-compact shadow-popover',
            className,
          )}
          {...rest}
        >
          {children(() => setOpen(false))}
        </Primitive.Content>
      </Primitive.Portal>
    </Primitive.Root>
  )
}
