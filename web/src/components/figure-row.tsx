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

/** Stands where figures will be, each as tall as the one with this note. */
export function FigureRowSkeleton({ notes }: { notes: string[] }) {
  return (
    <FigureRow>
      {notes.map((note, index) => (
        <div key={index} aria-hidden className="grid *:col-start-1 *:row-start-1">
          <Figure label="&nbsp;" value="&nbsp;" note={note} className="invisible" />
          <Skeleton className="h-full" />
        </div>
      ))}
    </FigureRow>
  )
}
