import { X } from 'lucide-react'
import * as Primitive from 'radix-ui/dialog'
import {
  createContext,
  use,
  useLayoutEffect,
  useRef,
  type ComponentProps,
  type ReactNode,
  type RefObject,
} from 'react'
import { cn } from '@/lib/cn'
import { Button } from './button'

const Opener = createContext<RefObject<Element | null>>({ current: null })

/** What has the focus. An entry of a menu is gone when the dialog closes; the menu's button is not. */
function focusHolder(): Element | null {
  const menu = document.activeElement?.closest('[role=menu]')
  return menu ? document.getElementById(menu.getAttribute('aria-labelledby') ?? '') : document.activeElement
}

/** Remembers what it was opened from: most dialogs have no trigger that the primitive could return to. */
export function Dialog(props: ComponentProps<typeof Primitive.Root>) {
  const opener = useRef<Element>(null)
  useLayoutEffect(() => {
    if (props.open) opener.current = focusHolder()
  }, [props.open])
  return (
    <Opener value={opener}>
      <Primitive.Root {...props} />
    </Opener>
  )
}

/** Hands the focus back when a dialog closes, unless `first` has prevented it. */
export function useReturnFocus(first?: (event: Event) => void) {
  const opener = use(Opener)
  return (event: Event) => {
    first?.(event)
    // Nothing had it: the primitive may know a trigger.
    if (event.defaultPrevented || opener.current === document.body) return
    event.preventDefault()
    // Who took it meanwhile, such as the heading of the next page, keeps it.
    if (document.activeElement !== document.body) return
    const around = [...document.querySelectorAll('h1, [role=dialog]')].at(-1)
    const target = opener.current?.isConnected ? opener.current : around
    if (target instanceof HTMLElement) target.focus()
  }
}

/** Over what was opened before too, such as the sheet that a question is asked from. */
export function Overlay() {
  return (
    <Primitive.Overlay className="fixed inset-0 z-50 animate-popover-in bg-foreground/40 dark:bg-background/70" />
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
  const {
    className,
    title,
    description,
    footer,
    closable = true,
    children,
    onCloseAutoFocus,
    ...rest
  } = props
  const returnFocus = useReturnFocus(onCloseAutoFocus)
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
        onCloseAutoFocus={returnFocus}
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
