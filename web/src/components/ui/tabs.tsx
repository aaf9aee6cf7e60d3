import * as Primitive from 'radix-ui/tabs'
import { useLayoutEffect, useRef, type ComponentProps } from 'react'
import { cn } from '@/lib/cn'

export const Tabs = Primitive.Root

/** Where the open tab lies, for the waterline to slide there; and the open tab is always in sight. */
function useOpenTab() {
  const list = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    const box = list.current
    if (!box) return
    const follow = () => {
      const open = box.querySelector<HTMLElement>('[data-state=active]')
      box.style.setProperty('--tab-left', `${open?.offsetLeft ?? 0}px`)
      box.style.setProperty('--tab-width', `${open?.offsetWidth ?? 0}px`)
      if (open) box.scrollLeft = open.offsetLeft - (box.clientWidth - open.offsetWidth) / 2
    }
    const changes = new MutationObserver(follow)
    const sizes = new ResizeObserver(follow)
    changes.observe(box, { subtree: true, attributeFilter: ['data-state'] })
    for (const part of [box, ...box.children]) sizes.observe(part)
    follow()
    // The first place is no movement.
    const frame = requestAnimationFrame(() => box.setAttribute('data-placed', ''))
    return () => {
      cancelAnimationFrame(frame)
      changes.disconnect()
      sizes.disconnect()
    }
  }, [])
  return list
}

/** The waterline under the open tab is 3 px of brand. */
export function TabsList({ className, ...rest }: ComponentProps<typeof Primitive.List>) {
  return (
    <Primitive.List
      ref={useOpenTab()}
      className={cn(
        'relative flex gap-6 overflow-x-auto border-b after:absolute after:bottom-0 after:left-(--tab-left) after:h-[3px] after:w-(--tab-width) after:bg-primary data-placed:after:transition-[left,width] data-placed:after:duration-180 data-placed:after:ease-out motion-reduce:after:transition-none motion-safe:data-placed:scroll-smooth',
        className,
      )}
      {...rest}
    />
  )
}

export function TabsTrigger({ className, ...rest }: ComponentProps<typeof Primitive.Trigger>) {
  return (
    <Primitive.Trigger
      className={cn(
        'min-h-11 shrink-0 rounded-badge text-body font-medium text-muted-foreground whitespace-nowrap -outline-offset-2 hover:text-foreground data-[state=active]:font-semibold data-[state=active]:text-foreground',
        className,
      )}
      {...rest}
    />
  )
}

export function TabsContent({ className, ...rest }: ComponentProps<typeof Primitive.Content>) {
  return <Primitive.Content className={cn('pt-6', className)} {...rest} />
}
