import { X } from 'lucide-react'
import * as Primitive from 'radix-ui/dialog'
import type { ComponentProps, ReactNode } from 'react'
import { cn } from '@/lib/cn'
import { Button } from './button'
import { Overlay, useReturnFocus } from './dialog'

export { Dialog as Sheet } from './dialog'
export const SheetTrigger = Primitive.Trigger

interface SheetContentProps extends Omit<ComponentProps<typeof Primitive.Content>, 'title'> {
  title: ReactNode
  side?: 'left' | 'right'
  footer?: ReactNode
}

export function SheetContent({
  className,
  title,
  side = 'left',
  footer,
  children,
  onCloseAutoFocus,
  ...rest
}: SheetContentProps) {
  const returnFocus = useReturnFocus(onCloseAutoFocus)
  return (
    <Primitive.Portal>
      <Overlay />
      <Primitive.Content
        aria-describedby={undefined}
        data-quiet-focus
        className={cn(
          'fixed inset-y-0 z-50 flex animate-sheet-in flex-col bg-popover shadow-dialog',
          side === 'left'
            ? 'left-0 w-[min(320px,calc(100vw-44px))] border-r'
            : 'right-0 w-full border-l [--slide-from:24px] sm:w-[min(640px,calc(100vw-44px))]',
          className,
        )}
        {...rest}
        onCloseAutoFocus={returnFocus}
      >
        <div className="flex items-center gap-4 border-b px-4 py-3">
          <Primitive.Title className="grow text-section">{title}</Primitive.Title>
          <Primitive.Close asChild>
            <Button variant="ghost" size="icon" aria-label="Close" className="-mr-2">
              <X aria-hidden />
            </Button>
          </Primitive.Close>
        </div>
        <div className="min-h-0 grow overflow-y-auto p-4 [&>dl:first-child]:border-t-0">{children}</div>
        {footer ? <div className="flex flex-wrap gap-3 border-t p-4">{footer}</div> : null}
      </Primitive.Content>
    </Primitive.Portal>
  )
}
