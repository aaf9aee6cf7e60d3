import { Info } from 'lucide-react'
import type { ReactNode } from 'react'
import { formatDay, formatTime } from '@/lib/dates'
import { Button } from './ui/button'
import { Popover } from './ui/popover'

export interface Explanation {
  /** One sentence. */
  text: ReactNode
  /** The formula with this person's numbers. */
  formula?: ReactNode
  /** ISO time of the figure. */
  asOf?: string
  /** Leads to the rows behind the figure. */
  link?: ReactNode
}

/** The info button beside a figure. */
export function About({ label, text, formula, asOf, link }: Explanation & { label: string }) {
  const moment = asOf ? new Date(asOf) : null
  return (
    <Popover
      align="start"
      className="flex flex-col gap-1.5"
      trigger={
        <Button
          variant="ghost"
          size="text"
          aria-label={`About ${label}`}
          title={`About ${label}`}
          className="relative size-6 min-h-0 text-muted-foreground after:absolute after:-inset-2.5 hover:text-foreground pointer-coarse:min-h-0"
        >
          <Info aria-hidden />
        </Button>
      }
    >
      {() => (
        <>
          <p className="font-semibold">About {label}</p>
          <p>{text}</p>
          {formula ? <p className="tabular">{formula}</p> : null}
          {moment || link ? (
            <p className="text-muted-foreground">
              {moment ? `As of ${formatDay(moment)}, ${formatTime(moment)}. ` : ''}
              {link}
            </p>
          ) : null}
        </>
      )}
    </Popover>
  )
}
