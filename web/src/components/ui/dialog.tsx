import { X } from 'lucide-react'
import { Dialog as Primitive } from 'radix-ui'
import type { ComponentProps, ReactNode } from 'react'
import { cn } from '@/lib/cn'
import { Button } from './button'

export const Dialog = Primitive.Root

export function Overlay() {
  return (
    <Primitive.Overlay className="fixed inset-0 z-40 animate-popover-in bg-foreground/40 dark:bg-background/70" />
  )
}

interface DialogContentProps extends Omit<ComponentProps<typeof Primitive.Content>, 'title'> {
  title: ReactNode
  description?: ReactNode
  /** The row of buttons; on phones it stays at the bottom edge. */
  footer?: ReactNode
  /** Without it the person cannot leave before the dialog is done. */
  closable?: boolean
}

/** A dialog in the middle of the page; a sheet from the bottom on phones. */
export function DialogContent(props: DialogContentProps) {
  const { className, title, description, footer, closable = true, children, ...rest } = props
  return (
    <Primitive.Portal>
      <Overlay />
      <Primitive.Content
        data-quiet-focus
        className={cn(
          'fixed inset-x-0 bottom-0 z-50 flex max-h-[92dvh] animate-dialog-in flex-col rounded-t-card border bg-popover shadow-dialog md:inset-x-auto md:top-1/2 md:bottom-auto md:left-1/2 md:w-[min(528px,calc(100vw-48px))] md:-translate-x-1/2 md:-translate-y-1/2 md:rounded-card',
          className,
        )}
        {...(description ? {} : { 'aria-describedby': undefined })}
        {...rest}
      >
        <div className="flex items-start gap-4 px-4 pt-5 md:px-6 md:pt-6">
          <Primitive.Title className="grow pt-1 text-section">{title}</Primitive.Title>
          {closable ? (
            <Primitive.Close asChild>
              <Button variant="ghost" size="icon-compact" aria-label="Close" className="-mt-1 -mr-2">
                <X aria-hidden />
              </Button>
            </Primitive.Close>
          ) : null}
        </div>
        <div className="min-h-0 grow overflow-y-auto px-4 pt-3 pb-5 md:px-6">
          {description ? (
            <Primitive.Description className="mb-4 text-muted-foreground">
              {description}
            </Primitive.Description>
          ) : null}
          {children}
        </div>
        {footer ? (
          <div className="flex gap-3 border-t px-4 pt-3 pb-[max(16px,env(safe-area-inset-bottom))] *:grow md:justify-end md:border-t-0 md:px-6 md:pt-1 md:pb-6 md:*:grow-0">
            {footer}
          </div>
        ) : null}
      </Primitive.Content>
    </Primitive.Portal>
  )
}
