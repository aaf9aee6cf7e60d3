import { TriangleAlert } from 'lucide-react'
import { cn } from '@/lib/cn'
import { usePlatform } from '@/lib/platform'

/** On every route while the installation is a demo; it cannot be dismissed. `className` gives the page's width. */
export function DemoBanner({ className }: { className?: string }) {
  const { data } = usePlatform()
  if (!data?.demo) return null
  return (
    <aside aria-label="Demo" className="border-b border-warning-soft bg-warning-soft">
      <div className={cn('page-gutter mx-auto flex items-center gap-2.5 py-1.5 text-compact', className)}>
        <TriangleAlert className="size-4 stroke-[1.75] text-warning" aria-hidden />
        Demo. No real money is accepted here.
      </div>
    </aside>
  )
}
