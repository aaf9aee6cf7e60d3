import { useEffect, useRef, useState, type ReactNode } from 'react'
import { cn } from '@/lib/cn'
import { Field } from './field'

export const codeLength = 6

interface CodeInputProps {
  value: string
  onChange: (code: string) => void
  hint?: ReactNode
  /** Said under the cells until there is an error. */
  note?: ReactNode
  error?: ReactNode
  /** It is what the person came for. */
  takesFocus?: boolean
}

/**
 * Six digits in one field, which cells draw: what fills in codes finds one field, and what is pasted may hold blanks. A
 * code that was not taken is selected, so that the next one is typed over it.
 */
export function CodeInput({ value, onChange, hint, note, error, takesFocus }: CodeInputProps) {
  const input = useRef<HTMLInputElement>(null)
  const [isWhole, setIsWhole] = useState(false)
  const [isFocused, setIsFocused] = useState(false)
  const wrong = Boolean(error)
  useEffect(() => {
    if (!wrong) return
    input.current?.focus()
    input.current?.select()
  }, [wrong])

  /** Digits follow each other: the caret stands behind the last one, unless all are selected. */
  function select(field: HTMLInputElement) {
    const { selectionStart: start, selectionEnd: end } = field
    const { length } = field.value
    setIsWhole(length > 0 && start === 0 && end === length)
    if (start === end && end !== length) field.setSelectionRange(length, length)
  }

  const active = isFocused ? Math.min(isWhole ? 0 : value.length, codeLength - 1) : null
  return (
    <Field label="Six-digit code" hint={hint} error={error} note={error ? null : note}>
      {(control) => (
        <span className="relative grid w-full max-w-84 grid-cols-[repeat(3,minmax(0,1fr))_0.25rem_repeat(3,minmax(0,1fr))] gap-2">
          <input
            {...control}
            ref={input}
            // Where it is asked for, the person came to type a code and nothing else.
            // eslint-disable-next-line jsx-a11y/no-autofocus
            autoFocus={takesFocus}
            inputMode="numeric"
            autoComplete="one-time-code"
            className="absolute inset-0 z-10 size-full cursor-text opacity-0"
            value={value}
            onChange={(event) => onChange(event.target.value.replaceAll(/\D/g, '').slice(0, codeLength))}
            onSelect={(event) => select(event.currentTarget)}
            onFocus={(event) => {
              setIsFocused(true)
              if (wrong) event.target.select()
            }}
            onBlur={() => setIsFocused(false)}
          />
          {Array.from({ length: codeLength }, (_, index) => (
            <span
              key={index}
              aria-hidden
              className={cn(
                'tabular flex h-13 items-center justify-center rounded-control border border-input bg-card text-section font-semibold outline-offset-2 outline-ring',
                index === active && 'outline-2',
                index === codeLength / 2 && 'col-start-5',
                isFocused && isWhole && 'bg-accent',
                wrong && 'border-destructive text-destructive',
              )}
            >
              {value[index] ?? (index === active ? <span className="h-6 w-px bg-foreground" /> : null)}
            </span>
          ))}
        </span>
      )}
    </Field>
  )
}
