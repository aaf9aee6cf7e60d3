import * as Primitive from 'radix-ui/radio-group'
import type { ComponentProps, ReactNode } from 'react'
import { cn } from '@/lib/cn'

export function RadioGroup({ className, ...rest }: ComponentProps<typeof Primitive.Root>) {
  return (
    <Primitive.Root
      className={cn('rounded-card border border-input bg-card aria-invalid:border-destructive', className)}
      {...rest}
    />
  )
}

interface RadioRowProps extends ComponentProps<typeof Primitive.Item> {
  label: ReactNode
  hint?: ReactNode
  /** What stands at the right, such as a price. */
  trailing?: ReactNode
}

// Inside a form each item is followed by a hidden input, so edges go by type and not by child.
/** One choice as a whole row: the row is the target, its edge shows the focus. */
export function RadioRow({ className, label, hint, trailing, ...rest }: RadioRowProps) {
  return (
    <Primitive.Item
      className={cn(
        'group flex min-h-14 w-full items-center gap-3 px-4 py-2.5 text-left first-of-type:rounded-t-[11px] last-of-type:rounded-b-[11px] not-first-of-type:border-t hover:bg-muted focus-visible:relative focus-visible:z-10 data-[state=checked]:bg-accent',
        className,
      )}
      {...rest}
    >
      <span className="flex size-5 shrink-0 items-center justify-center rounded-full border border-input bg-card group-data-[state=checked]:border-primary">
        <Primitive.Indicator className="size-2.5 rounded-full bg-primary" />
      </span>
      <span className="flex min-w-0 grow flex-wrap items-baseline gap-x-3 max-sm:flex-col max-sm:items-start">
        <span className="font-semibold">{label}</span>
        {hint ? <span className="text-compact text-muted-foreground">{hint}</span> : null}
      </span>
      {trailing ? <span className="tabular shrink-0 font-semibold">{trailing}</span> : null}
    </Primitive.Item>
  )
}
