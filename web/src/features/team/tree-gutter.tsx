import { cn } from '@/lib/cn'
import type { PairState } from './api'
import type { Bracket } from './tree-rows'

/** Levels below this are not indented further: the tree opens them as a root of their own. */
export const deepestIndent = 6
const indent = 20

/** Where the bracket of a level's children stands. */
function gutterOf(level: number): number {
  return (Math.min(level, deepestIndent) - 2) * indent + 20
}

/** Where a name begins: right of its bracket's arm and of the arrow that opens it. */
export function insetOf(level: number): number {
  return level === 1 ? 26 : gutterOf(level) + 42
}

const strokes: Record<PairState, string> = {
  paying: 'border-primary',
  blocked: 'border-dashed border-warning',
  open: 'border-input',
  no_rate: 'border-dashed border-input',
}

const parts: Record<Bracket['part'], string> = {
  top: 'top-1/2 -bottom-px border-t-2 border-l-2',
  through: 'inset-y-0 -bottom-px border-l-2',
  bottom: 'top-0 bottom-1/2 border-b-2 border-l-2',
  open: 'top-1/2 bottom-1 border-t-2 border-l-2',
}

/** The pieces of brackets that touch a row: solid for a paying pair, dashed for a blocked one, open for one alone. */
export function Gutter({ brackets }: { brackets: Bracket[] }) {
  return brackets.map(({ level, part, state }) => (
    <span
      key={level}
      aria-hidden
      className={cn(
        'pointer-events-none absolute w-3',
        strokes[state],
        parts[part],
        part === 'through' && 'w-0',
      )}
      style={{ left: gutterOf(level) }}
    />
  ))
}

const legend: { state: PairState; text: string }[] = [
  { state: 'paying', text: 'Paying pair' },
  { state: 'blocked', text: 'Blocked' },
  { state: 'open', text: 'Open, waits for a second' },
]

export function TreeLegend() {
  return (
    <ul aria-label="Brackets" className="flex flex-wrap gap-x-5 gap-y-1 text-compact text-muted-foreground">
      {legend.map(({ state, text }) => (
        <li key={state} className="flex items-center gap-2">
          <span
            aria-hidden
            className={cn(
              'h-3.5 w-2.5 border-t-2 border-l-2',
              state !== 'open' && 'border-b-2',
              strokes[state],
            )}
          />
          {text}
        </li>
      ))}
    </ul>
  )
}
