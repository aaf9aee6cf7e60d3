import * as Primitive from 'radix-ui/popover'
import { useId, useState } from 'react'
import { cn } from '@/lib/cn'
import type { PopoverProps } from './popover'

/** Opens as soon as it is there: it was asked for. Its name is its button's unless it has its own. */
export default function PopoverPanel({ trigger, className, children, ...rest }: PopoverProps) {
  const [open, setOpen] = useState(true)
  const button = useId()
  return (
    <Primitive.Root open={open} onOpenChange={setOpen}>
      <Primitive.Trigger asChild id={button}>
        {trigger}
      </Primitive.Trigger>
      <Primitive.Portal>
        <Primitive.Content
          sideOffset={6}
          collisionPadding={16}
          aria-labelledby={rest['aria-label'] ? undefined : button}
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
