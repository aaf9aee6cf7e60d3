import { useEffect, useRef, useState, type ComponentProps } from 'react'
import { cn } from '@/lib/cn'

/** Whether a box has more to show sideways than it is wide. */
function useScrolls() {
  const box = useRef<HTMLDivElement>(null)
  const [scrolls, setScrolls] = useState(false)
  useEffect(() => {
    const found = box.current
    if (!found) return
    const sizes = new ResizeObserver(() => setScrolls(found.scrollWidth > found.clientWidth))
    for (const part of [found, ...found.children]) sizes.observe(part)
    return () => sizes.disconnect()
  }, [])
  return { box, scrolls }
}

interface TableProps extends ComponentProps<'table'> {
  /** What the table is, for who comes to its box by keyboard. */
  label?: string
}

/** A table that scrolls inside its own box when it is wider than the page: by keyboard too, once it has the focus. */
export function Table({ label = 'Wide table', className, ...rest }: TableProps) {
  const { box, scrolls } = useScrolls()
  return (
    // What is touched beyond its edge, such as the info button of a row's last figure, is still within the box.
    <div
      ref={box}
      {...(scrolls ? { role: 'region', 'aria-label': label, tabIndex: 0 } : {})}
      className="relative -mr-2.5 overflow-x-auto pr-2.5"
    >
      <table className={cn('w-full border-collapse text-body', className)} {...rest} />
    </div>
  )
}

export function TableHead({ className, ...rest }: ComponentProps<'th'>) {
  return (
    <th
      scope="col"
      className={cn(
        'border-b py-2.5 pr-4 text-left text-compact font-medium [overflow-wrap:normal] text-muted-foreground last:pr-0 data-[align=right]:text-right',
        className,
      )}
      {...rest}
    />
  )
}

export function TableRow({ className, ...rest }: ComponentProps<'tr'>) {
  return <tr className={cn('border-b last:border-b-0', className)} {...rest} />
}

export function TableCell({ className, ...rest }: ComponentProps<'td'>) {
  return (
    <td
      className={cn(
        'h-14 py-1.5 pr-4 last:pr-0 data-[align=right]:text-right data-[align=right]:whitespace-nowrap data-[align=right]:tabular-nums',
        className,
      )}
      {...rest}
    />
  )
}
