import type { FieldValues, Path, UseFormReturn } from 'react-hook-form'
import { Field } from '@/components/field'
import { fieldError, fieldProps } from '@/components/form'
import { Textarea } from '@/components/ui/input'

interface ReferenceFieldProps<T extends FieldValues> {
  form: UseFormReturn<T>
  name: Path<T>
  label: string
}

/** What a transfer is known by: all of a transaction hash is in sight. */
export function ReferenceField<T extends FieldValues>({ form, name, label }: ReferenceFieldProps<T>) {
  return (
    <Field
      label={label}
      hint="The transaction hash, or the exchange’s number for this transfer."
      error={fieldError(form, name)}
    >
      {(control) => (
        <Textarea
          {...control}
          {...fieldProps(form, name)}
          rows={1}
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          // A browser whose fields do not grow with their text has the room of a transaction hash from the start.
          className="min-h-11 resize-none font-mono break-all not-supports-[field-sizing:content]:min-h-24 md:text-body md:not-supports-[field-sizing:content]:min-h-18"
        />
      )}
    </Field>
  )
}
