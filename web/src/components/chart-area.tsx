import { Suspense, useEffect, useRef, useState, type ReactNode } from 'react'
import { cn } from '@/lib/cn'
import { Skeleton } from './ui/skeleton'

interface ChartAreaProps {
  /** Its height, which stands before the chart does. */
  className: string
  /** The chart, which may still have to be fetched. */
  children: ReactNode
  /** Over the chart, such as what it says when there is nothing to draw. */
  over?: ReactNode
}

/** Where a chart stands. It is fetched and drawn once its place comes near the window: what is read first comes first. */
export function ChartArea({ className, children, over }: ChartAreaProps) {
  const place = useRef<HTMLDivElement>(null)
  const [near, setNear] = useState(false)
  useEffect(() => {
    if (near || !place.current) return
    const watch = new IntersectionObserver(
      (seen) => setNear(seen.some(({ isIntersecting }) => isIntersecting)),
      { rootMargin: '200px' },
    )
    watch.observe(place.current)
    return () => watch.disconnect()
  }, [near])
  const waiting = <Skeleton className="size-full" />
  return (
    <div ref={place} className={cn('tabular relative', className)}>
      {near ? <Suspense fallback={waiting}>{children}</Suspense> : waiting}
      {over}
    </div>
  )
}
