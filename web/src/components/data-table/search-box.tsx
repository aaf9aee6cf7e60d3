import { Search } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import { Input } from '@/components/ui/input'
import { stored } from '@/lib/stored'

/** Set to 'off' by those whose assistive software sends single keys. */
const shortcutKey = 'search-shortcut'

function typesText(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  )
}

interface SearchBoxProps {
  label: string
  value: string
  onSearch: (text: string) => void
}

/** Searches 300 ms after the last key. Escape clears; `/` comes here from anywhere on the page. */
export function SearchBox({ label, value, onSearch }: SearchBoxProps) {
  const field = useRef<HTMLInputElement>(null)
  const [text, setText] = useState(value)
  const [seen, setSeen] = useState(value)
  const [asked, setAsked] = useState(value)
  if (seen !== value) {
    setSeen(value)
    setAsked(value)
    // What this box asked for itself does not take back the keys pressed meanwhile.
    if (value !== asked) setText(value)
  }

  useEffect(() => {
    if (text === value) return
    const timer = setTimeout(() => {
      setAsked(text)
      onSearch(text)
    }, 300)
    return () => clearTimeout(timer)
  }, [text, value, onSearch])

  useEffect(() => {
    function focus(event: KeyboardEvent): void {
      if (event.key !== '/' || typesText(event.target) || stored.get(shortcutKey) === 'off') return
      event.preventDefault()
      field.current?.focus()
    }
    document.addEventListener('keydown', focus)
    return () => document.removeEventListener('keydown', focus)
  }, [])

  return (
    <div role="search" className="relative grow md:max-w-72">
      <Search
        className="pointer-events-none absolute top-1/2 left-3 size-4 -translate-y-1/2 text-muted-foreground"
        aria-hidden
      />
      <Input
        ref={field}
        type="search"
        aria-label={label}
        placeholder={label}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === 'Escape' && text !== '') {
            event.preventDefault()
            setText('')
          }
        }}
        className="h-9 pl-9 md:text-compact pointer-coarse:h-11"
      />
    </div>
  )
}
