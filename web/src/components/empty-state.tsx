import type { ReactNode } from 'react'
import { cn } from '@/lib/cn'
import { drawings } from './drawings'

interface EmptyStateProps {
  drawing: keyof typeof drawings
  title: string
  text?: ReactNode
  action?: ReactNode
  className?: string
}

/** Nothing here, why, and what to do about it. */
export function EmptyState({ drawing, title, text, action, className }: EmptyStateProps) {
  const Drawing = drawings[drawing]
  return (
    <div className={cn('flex flex-col items-center gap-1 px-4 py-10 text-center', className)}>
      <Drawing />
      <p className="mt-2 font-semibold">{title}</p>
      {text ? <p className="max-w-[44ch] text-muted-foreground">{text}</p> : null}
      {action ? <div className="mt-4 flex flex-wrap justify-center gap-3">{action}</div> : null}
    </div>
  )
}
