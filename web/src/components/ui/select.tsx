import { Check, ChevronDown } from 'lucide-react'
import * as Primitive from 'radix-ui/select'
import type { ComponentProps } from 'react'
import { cn } from '@/lib/cn'
import { fieldStyles } from './input'

export const Select = Primitive.Root
export const SelectValue = Primitive.Value

export function SelectTrigger({ className, children, ...rest }: ComponentProps<typeof Primitive.Trigger>) {
  return (
    <Primitive.Trigger
      className={cn(
        fieldStyles,
        'flex h-11 items-center justify-between gap-2 text-left data-[size=compact]:h-9 data-[size=compact]:text-compact pointer-coarse:data-[size=compact]:h-11',
        className,
      )}
      {...rest}
    >
      {children}
      <Primitive.Icon asChild>
        <ChevronDown className="size-4 text-muted-foreground" aria-hidden />
      </Primitive.Icon>
    </Primitive.Trigger>
  )
}

export function SelectContent({ className, children, ...rest }: ComponentProps<typeof Primitive.Content>) {
  return (
    <Primitive.Portal>
      <Primitive.Content
        position="popper"
        sideOffset={4}
        className={cn(
          'z-50 max-h-(--radix-select-content-available-height) min-w-(--radix-select-trigger-width) animate-popover-in overflow-y-auto rounded-control border bg-popover p-1 shadow-popover',
          className,
        )}
        {...rest}
      >
        <Primitive.Viewport>{children}</Primitive.Viewport>
      </Primitive.Content>
    </Primitive.Portal>
  )
}

export function SelectItem({ className, children, ...rest }: ComponentProps<typeof Primitive.Item>) {
  return (
    <Primitive.Item
      className={cn(
        'relative flex min-h-9 items-center rounded-badge py-1.5 pr-8 pl-3 text-compact outline-none data-highlighted:bg-accent data-disabled:text-muted-foreground pointer-coarse:min-h-11',
        className,
      )}
      {...rest}
    >
      <Primitive.ItemText>{children}</Primitive.ItemText>
      <Primitive.ItemIndicator className="absolute right-2">
        <Check className="size-4" aria-hidden />
      </Primitive.ItemIndicator>
    </Primitive.Item>
  )
}
