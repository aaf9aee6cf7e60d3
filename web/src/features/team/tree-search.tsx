import { useQuery } from '@tanstack/react-query'
import { Search } from 'lucide-react'
import { useEffect, useId, useState } from 'react'
import { Input } from '@/components/ui/input'
import { longestSearch, teamSearchQuery } from './api'
import { fullNameOf, nameOf } from './names'

function useSettled(text: string): string {
  const [settled, setSettled] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), 300)
    return () => clearTimeout(timer)
  }, [text])
  return settled
}

/** Finds people anywhere below the member; choosing one opens the tree there, with the path to it. */
export function TreeSearch({ onFind }: { onFind: (id: string) => void }) {
  const id = useId()
  const [typed, setTyped] = useState('')
  const text = useSettled(typed.trim())
  const found = useQuery(teamSearchQuery(text))
  const shown = text.length >= 2 && typed !== ''
  return (
    <div className="relative w-full sm:w-72">
      <label htmlFor={id} className="sr-only">
        Search your team
      </label>
      <Search
        className="pointer-events-none absolute top-3.5 left-3 size-4 text-muted-foreground"
        aria-hidden
      />
      <Input
        id={id}
        type="search"
        placeholder="Search your team"
        autoComplete="off"
        maxLength={longestSearch}
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
        onKeyDown={(event) => event.key === 'Escape' && setTyped('')}
        className="pl-9"
      />
      {shown ? (
        <div className="absolute inset-x-0 top-full z-10 mt-1 rounded-control border bg-popover p-1 shadow-popover">
          <p
            role="status"
            className={found.data?.length ? 'sr-only' : 'px-3 py-2 text-compact text-muted-foreground'}
          >
            {found.isError
              ? 'The search failed. Try again.'
              : found.data
                ? `${found.data.length} found`
                : 'Searching'}
          </p>
          <ul>
            {found.data?.map((member) => (
              <li key={member.id}>
                <button
                  type="button"
                  className="flex min-h-11 w-full flex-wrap items-baseline gap-x-2 rounded-badge px-3 py-2 text-left hover:bg-accent"
                  onClick={() => {
                    setTyped('')
                    onFind(member.id)
                  }}
                >
                  <span className="font-semibold">{fullNameOf(member)}</span>
                  <span className="text-compact text-muted-foreground">{nameOf(member)}</span>
                </button>
              </li>
            ))}
          </ul>
        </div>
      ) : null}
    </div>
  )
}
