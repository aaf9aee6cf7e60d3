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

/** The waterline under the open tab is 3 px of brand. Tabs reach 6 px past their words, so that focus rings clear them. */
export function TabsList(props: Omit<ComponentProps<typeof Primitive.List>, 'className'>) {
  return (
    <div className="border-b">
      <Primitive.List
        ref={useOpenTab()}
        className="relative -mx-1.5 flex gap-3 overflow-x-auto after:absolute after:bottom-0 after:left-[calc(var(--tab-left)+6px)] after:h-[3px] after:w-[calc(var(--tab-width)-12px)] after:bg-primary data-placed:after:transition-[left,width] data-placed:after:duration-180 data-placed:after:ease-out motion-reduce:after:transition-none motion-safe:data-placed:scroll-smooth"
        {...props}
      />
    </div>
  )
}

export function TabsTrigger({ className, ...rest }: ComponentProps<typeof Primitive.Trigger>) {
  return (
    <Primitive.Trigger
      className={cn(
        'min-h-11 shrink-0 rounded-badge px-1.5 text-body font-medium text-muted-foreground whitespace-nowrap -outline-offset-2 hover:text-foreground data-[state=active]:font-semibold data-[state=active]:text-foreground',
        className,
      )}
      {...rest}
    />
  )
}

export function TabsContent({ className, ...rest }: ComponentProps<typeof Primitive.Content>) {
  return <Primitive.Content className={cn('pt-6', className)} {...rest} />
}
