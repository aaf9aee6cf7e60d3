import { useSyncExternalStore, type ReactNode } from 'react'
import { cn } from '@/lib/cn'

// The least a software keyboard takes of a phone's height.
const keyboardHeight = 150

function subscribe(listener: () => void): () => void {
  const viewport = window.visualViewport
  viewport?.addEventListener('resize', listener)
  return () => viewport?.removeEventListener('resize', listener)
}

function keyboardOpen(): boolean {
  const viewport = window.visualViewport
  return viewport !== null && window.innerHeight - viewport.height * viewport.scale > keyboardHeight
}

interface ActionBarProps {
  /** What the button is about, kept in sight on phones: a package and its price. */
  summary: ReactNode
  /** The button that goes on, then anything quieter, which phones leave to the page's links. */
  children: ReactNode
}

/** Sticks to the bottom edge of phones, out of the way of the keyboard; a plain row from 768 px. */
export function ActionBar({ summary, children }: ActionBarProps) {
  const typing = useSyncExternalStore(subscribe, keyboardOpen, () => false)
  return (
    <>
      {/* Keeps the end of the page above the bar. */}
      <div className="h-16 md:hidden" aria-hidden />
      <div
        data-action-bar
        className={cn(
          'fixed inset-x-0 bottom-0 z-20 flex items-center gap-4 border-t bg-card px-4 pt-2.5 pb-[max(10px,env(safe-area-inset-bottom))] md:static md:border-0 md:bg-transparent md:p-0',
          typing && 'max-md:hidden',
        )}
      >
        <div className="tabular min-w-0 text-compact md:hidden">{summary}</div>
        <div className="flex min-w-0 grow items-center gap-3 *:first:grow md:*:first:grow-0">{children}</div>
      </div>
    </>
  )
}
