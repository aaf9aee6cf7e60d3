import { CircleAlert, CircleCheck, Info, TriangleAlert, type LucideIcon } from 'lucide-react'
import type { ComponentProps, ReactNode } from 'react'
import { cn } from '@/lib/cn'

type Tone = 'info' | 'positive' | 'warning' | 'negative'

const tones: Record<Tone, { icon: LucideIcon; box: string; mark: string }> = {
  info: { icon: Info, box: 'bg-info-soft', mark: 'text-info' },
  positive: { icon: CircleCheck, box: 'bg-positive-soft', mark: 'text-positive' },
  warning: { icon: TriangleAlert, box: 'bg-warning-soft', mark: 'text-warning' },
  negative: { icon: CircleAlert, box: 'bg-destructive-soft', mark: 'text-destructive' },
}

interface NoticeProps extends Omit<ComponentProps<'div'>, 'title'> {
  tone: Tone
  title?: ReactNode
  action?: ReactNode
}

/** A panel about the state of something: an account, a request, a page. */
export function Notice({ tone, title, action, className, children, ...rest }: NoticeProps) {
  const { icon: Icon, box, mark } = tones[tone]
  return (
    <div
      className={cn('flex flex-wrap items-start gap-x-4 gap-y-2 rounded-control p-4', box, className)}
      {...rest}
    >
      <div className="flex min-w-0 grow basis-60 gap-3">
        <Icon className={cn('mt-0.5 size-5 stroke-[1.75]', mark)} aria-hidden />
        <div className="min-w-0">
          {title ? <p className={cn('font-semibold', mark)}>{title}</p> : null}
          {children}
        </div>
      </div>
      {action}
    </div>
  )
}
