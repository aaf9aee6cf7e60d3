import type { ReactNode } from 'react'
import { Skeleton } from './ui/skeleton'

/** Figures side by side, parted by a line; one under the other on a phone. */
export function FigureRow({ children }: { children: ReactNode }) {
  return (
    <div className="grid grid-cols-2 gap-x-6 gap-y-5 lg:grid-cols-none lg:auto-cols-fr lg:grid-flow-col lg:divide-x lg:*:pl-5 lg:*:first:pl-0">
      {children}
    </div>
  )
}

/** Stands where figures will be. */
export function FigureRowSkeleton({ figures }: { figures: number }) {
  return (
    <FigureRow>
      {Array.from({ length: figures }, (_, index) => (
        <Skeleton key={index} className="h-[68px]" />
      ))}
    </FigureRow>
  )
}
