import { Check } from 'lucide-react'
import * as Primitive from 'radix-ui/dropdown-menu'
import type { ComponentProps } from 'react'
import { cn } from '@/lib/cn'

export const DropdownMenu = Primitive.Root
export const DropdownMenuTrigger = Primitive.Trigger
export const DropdownMenuRadioGroup = Primitive.RadioGroup

const itemStyles =
  'relative flex min-h-9 items-center gap-2 rounded-badge px-3 py-1.5 text-compact outline-none data-highlighted:bg-accent data-disabled:text-muted-foreground pointer-coarse:min-h-11 [&_svg]:size-4'

export function DropdownMenuContent({ className, ...rest }: ComponentProps<typeof Primitive.Content>) {
  return (
    <Primitive.Portal>
      <Primitive.Content
        sideOffset={6}
        align="end"
        collisionPadding={16}
        className={cn(
          'z-50 min-w-48 animate-popover-in rounded-control border bg-popover p-1 shadow-popover',
          className,
        )}
        {...rest}
      />
    </Primitive.Portal>
  )
}

export function DropdownMenuItem({ className, ...rest }: ComponentProps<typeof Primitive.Item>) {
  return <Primitive.Item className={cn(itemStyles, className)} {...rest} />
}

export function DropdownMenuLabel({ className, ...rest }: ComponentProps<typeof Primitive.Label>) {
  return (
    <Primitive.Label
      className={cn('px-3 py-1.5 text-compact [overflow-wrap:anywhere]', className)}
      {...rest}
    />
  )
}

export function DropdownMenuSeparator() {
  return <Primitive.Separator className="my-1 border-t" />
}

/** One of a few choices side by side; the menu stays open, so that the choice is seen. */
export function DropdownMenuSegment({ className, ...rest }: ComponentProps<typeof Primitive.RadioItem>) {
  return (
    <Primitive.RadioItem
      onSelect={(event) => event.preventDefault()}
      className={cn(
        'flex min-h-9 grow items-center justify-center px-2 text-compact font-medium outline-none first:rounded-l-[7px] last:rounded-r-[7px] data-highlighted:bg-muted data-highlighted:outline-2 data-highlighted:-outline-offset-2 data-[state=checked]:bg-accent data-[state=checked]:font-semibold data-[state=checked]:text-accent-foreground pointer-coarse:min-h-11',
        className,
      )}
      {...rest}
    />
  )
}

function Tick() {
  return (
    <Primitive.ItemIndicator className="absolute right-2">
      <Check aria-hidden />
    </Primitive.ItemIndicator>
  )
}

export function DropdownMenuRadioItem({
  className,
  children,
  ...rest
}: ComponentProps<typeof Primitive.RadioItem>) {
  return (
    <Primitive.RadioItem className={cn(itemStyles, 'pr-9', className)} {...rest}>
      {children}
      <Tick />
    </Primitive.RadioItem>
  )
}

export function DropdownMenuCheckboxItem({
  className,
  children,
  ...rest
}: ComponentProps<typeof Primitive.CheckboxItem>) {
  return (
    <Primitive.CheckboxItem className={cn(itemStyles, 'pr-9', className)} {...rest}>
      {children}
      <Tick />
    </Primitive.CheckboxItem>
  )
}
