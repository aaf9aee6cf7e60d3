import * as Slot from 'radix-ui/slot'
import { lazy, Suspense, useState, type ReactElement, type ReactNode } from 'react'

export const loadPopover = () => import('./popover-panel')
const PopoverPanel = lazy(loadPopover)

export interface PopoverProps {
  /** The button that opens it. */
  trigger: ReactElement
  align?: 'start' | 'center' | 'end'
  className?: string
  'aria-label'?: string
  children: (close: () => void) => ReactNode
}

/** A few words at a button. The code that places them is fetched when one is first opened. */
export function Popover(props: PopoverProps) {
  const [asked, setAsked] = useState(false)
  const closed = (
    <Slot.Root aria-haspopup="dialog" aria-expanded={false} onClick={() => setAsked(true)}>
      {props.trigger}
    </Slot.Root>
  )
  if (!asked) return closed
  return (
    <Suspense fallback={closed}>
      <PopoverPanel {...props} />
    </Suspense>
  )
}
