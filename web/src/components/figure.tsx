import type { ReactNode } from 'react'
import { cn } from '@/lib/cn'
import { About, type Explanation } from './about'

interface FigureProps {
  label: string
  /** A Money, a Percent or a count. */
  value: ReactNode
  explain?: Explanation
  /** A quiet line under the figure. */
  note?: ReactNode
  className?: string
}

/** A label, its figure and what explains it. */
export function Figure({ label, value, explain, note, className }: FigureProps) {
  return (
    <div className={cn('min-w-0', className)}>
      <div className="flex min-h-6 items-center gap-1.5 text-muted-foreground">
        <span>{label}</span>
        {explain ? <About label={label} {...explain} /> : null}
      </div>
      <div className="tabular @container font-title text-figure font-semibold">{value}</div>
      {note ? <div className="text-compact text-muted-foreground">{note}</div> : null}
    </div>
  )
}
