import type { ReactNode } from 'react'
import { cn } from '@/lib/cn'

/** The column a member's page lives in: 1120 px of content, the page's own margins. */
export function PageBody({ className, children }: { className?: string; children: ReactNode }) {
  return <div className={cn('page-gutter mx-auto w-full max-w-[1168px] py-8', className)}>{children}</div>
}
