import { TriangleAlert } from 'lucide-react'
import { cn } from '@/lib/cn'

export const riskText =
  'You can lose all the money you pay for a package. Bonuses come from other members\u2019 packages and are not guaranteed.'

/** Stands wherever money or a referral is asked for (specification S20.1). */
export function RiskLine({ className }: { className?: string }) {
  return (
    <p className={cn('flex max-w-[60ch] items-start gap-2.5 text-compact', className)}>
      <TriangleAlert className="mt-0.5 size-4 stroke-[1.75] text-warning" aria-hidden />
      <span>{riskText}</span>
    </p>
  )
}
