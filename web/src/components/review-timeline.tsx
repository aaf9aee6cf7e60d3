import { Check } from 'lucide-react'
import type { ReactNode } from 'react'
import { cn } from '@/lib/cn'

export interface ReviewStop {
  name: string
  state: 'done' | 'now' | 'next'
  /** When it was or will be; a dash while that is not known. */
  at: ReactNode
  text: ReactNode
}

const spoken = { done: 'done', now: 'now', next: 'not yet' }

function Mark({ state }: Pick<ReviewStop, 'state'>) {
  return (
    <span
      aria-hidden
      className={cn(
        'relative z-10 flex size-6 shrink-0 items-center justify-center rounded-badge border bg-card',
        state === 'done' && 'border-primary bg-primary text-primary-foreground',
        state === 'now' && 'border-2 border-primary',
        state === 'next' && 'border-input',
      )}
    >
      {state === 'done' ? <Check className="size-4" /> : null}
      {state === 'now' ? <span className="h-3 w-1.5 bg-lantern" /> : null}
    </span>
  )
}

/** Where a request stands between being sent and being decided. */
export function ReviewTimeline({ stops }: { stops: ReviewStop[] }) {
  return (
    <ol aria-label="Progress">
      {stops.map(({ name, state, at, text }, index) => (
        <li
          key={name}
          aria-current={state === 'now' ? 'step' : undefined}
          className="relative flex gap-4 pb-6 last:pb-0"
        >
          {index < stops.length - 1 ? (
            <span
              aria-hidden
              className={cn(
                'absolute top-6 bottom-0 left-[11px] w-0.5',
                state === 'done' ? 'bg-primary' : 'bg-border',
              )}
            />
          ) : null}
          <Mark state={state} />
          <div className="min-w-0 grow">
            <div className="flex flex-wrap items-baseline justify-between gap-x-4">
              <span className={cn('font-semibold', state === 'next' && 'text-muted-foreground')}>
                {name}
                <span className="sr-only">, {spoken[state]}</span>
              </span>
              <span
                className={cn(
                  'tabular text-compact',
                  state === 'now' ? 'font-semibold' : 'text-muted-foreground',
                )}
              >
                {at}
              </span>
            </div>
            <p className="text-compact text-muted-foreground">{text}</p>
          </div>
        </li>
      ))}
    </ol>
  )
}
