import type { ReactNode, Ref } from 'react'
import { Field } from './field'
import { Textarea } from './ui/input'

const limit = 1000

interface ReasonFieldProps {
  label: string
  value: string
  onChange: (reason: string) => void
  /** Who reads it. */
  note: string
  /** What it is asked for. */
  hint?: ReactNode
  error?: string | null
  ref?: Ref<HTMLTextAreaElement>
}

/** A sentence or two of why, with what is left of 1,000 characters. */
export function ReasonField({ label, value, onChange, note, hint, error, ref }: ReasonFieldProps) {
  return (
    <Field
      label={label}
      hint={hint}
      className="mt-4"
      error={error}
      note={
        <span className="flex justify-between gap-4 text-muted-foreground">
          <span>{note}</span>
          <span className="tabular">
            {value.length.toLocaleString('en-US')} / {limit.toLocaleString('en-US')}
          </span>
        </span>
      }
    >
      {(control) => (
        <Textarea
          {...control}
          ref={ref}
          value={value}
          maxLength={limit}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </Field>
  )
}
