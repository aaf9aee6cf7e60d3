import { TriangleAlert } from 'lucide-react'
import { useEffect } from 'react'
import { cn } from '@/lib/cn'
import { usePlatform } from '@/lib/platform'

/**
 * On every route while the installation is a demo; it cannot be dismissed. The stylesheet shows it, as /config.js says
 * before the first paint, so that nothing moves down for it later. `className` gives the page's width.
 */
export function DemoBanner({ className }: { className?: string }) {
  const demo = usePlatform().data?.demo
  useEffect(() => {
    if (demo !== undefined) document.documentElement.toggleAttribute('data-demo', demo)
  }, [demo])
  return (
    <aside aria-label="Demo" data-demo-only className="border-b border-warning-soft bg-warning-soft">
      <div className={cn('page-gutter mx-auto flex items-center gap-2.5 py-1.5 text-compact', className)}>
        <TriangleAlert className="size-4 stroke-[1.75] text-warning" aria-hidden />
        Demo. No real money is accepted here.
      </div>
    </aside>
  )
}
