import type { ReactNode } from 'react'
import { Figure } from './figure'
import { Skeleton } from './ui/skeleton'

/** Figures side by side, parted by a line; one under the other on a phone. */
export function FigureRow({ children }: { children: ReactNode }) {
  return (
    <div className="grid grid-cols-2 gap-x-6 gap-y-5 lg:grid-flow-col lg:auto-cols-fr lg:grid-cols-none lg:gap-x-0 lg:divide-x lg:*:px-5 lg:*:first:pl-0 lg:*:last:pr-0">
      {children}
    </div>
  )
}

interface FigureRowSkeletonProps {
  notes: string[]
  /** Where a label may need two lines in a narrow column; a line of its own each otherwise. */
  labels?: string[]
}

/** Stands where figures will be, each as tall as the one with this label and this note. */
export function FigureRowSkeleton({ notes, labels }: FigureRowSkeletonProps) {
  return (
    <FigureRow>
      {notes.map((note, index) => (
        <div key={index} aria-hidden className="grid *:col-start-1 *:row-start-1">
          <Figure label={labels?.[index] ?? '\u00a0'} value="&nbsp;" note={note} className="invisible" />
          <Skeleton className="h-full" />
        </div>
      ))}
    </FigureRow>
  )
}
