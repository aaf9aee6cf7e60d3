import { CircleAlert, CircleCheck, X } from 'lucide-react'
import { useEffect } from 'react'
import { toast, Toaster as Sonner } from 'sonner'
import { useStore } from '@/lib/store'
import { toasts, type Toast } from '@/lib/toast-queue'

function show(message: Toast): void {
  const present = message.kind === 'success' ? toast.success : toast.error
  // The queue owns the clock: sonner would also count down what it does not show.
  present(message.title, {
    id: message.id,
    description: message.description,
    duration: Infinity,
    onDismiss: () => toasts.dismiss(message.id),
  })
}

/** Shows what the queue hands out, one message at a time. */
export default function Toaster() {
  const current = useStore<Toast | null>(toasts)
  useEffect(() => {
    if (!current) return
    show(current)
    return () => {
      toast.dismiss(current.id)
    }
  }, [current])
  useEffect(() => toasts.begin(), [])
  return (
    <div
      data-print="no"
      onMouseEnter={() => toasts.pause()}
      onMouseLeave={() => toasts.resume()}
      onFocus={() => toasts.pause()}
      onBlur={() => toasts.resume()}
    >
      <Sonner
        visibleToasts={1}
        position="bottom-right"
        // Above the bar at the bottom edge of phones.
        mobileOffset={{ bottom: 'calc(16px + var(--action-bar, 0px))' }}
        closeButton
        icons={{
          success: <CircleCheck className="size-5 stroke-[1.75] text-positive" aria-hidden />,
          error: <CircleAlert className="size-5 stroke-[1.75] text-destructive" aria-hidden />,
          close: <X className="size-4" aria-hidden />,
        }}
        containerAriaLabel="Messages"
        toastOptions={{
          unstyled: true,
          classNames: {
            toast:
              'flex w-(--width) items-start font-sans gap-3 rounded-control border bg-popover py-3 pr-12 pl-4 text-body text-popover-foreground shadow-popover',
            title: 'font-medium',
            description: 'text-muted-foreground',
            icon: 'mt-0.5 size-5',
            closeButton:
              'absolute top-1 right-1 flex size-10 items-center justify-center rounded-control hover:bg-muted',
          },
        }}
      />
    </div>
  )
}
