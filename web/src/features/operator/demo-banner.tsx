import { TriangleAlert } from 'lucide-react'
import { usePlatform } from '@/lib/platform'

/** On every route while the installation is a demo; it cannot be dismissed. */
export function DemoBanner() {
  const { data } = usePlatform()
  if (!data?.demo) return null
  return (
    <aside aria-label="Demo" className="border-b border-warning-soft bg-warning-soft">
      <p className="page-gutter mx-auto flex max-w-[1168px] items-center gap-2.5 py-1.5 text-compact in-data-wide:max-w-none">
        <TriangleAlert className="size-4 stroke-[1.75] text-warning" aria-hidden />
        Demo. No real money is accepted here.
      </p>
    </aside>
  )
}
