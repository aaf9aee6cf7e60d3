import { Eye, EyeOff } from 'lucide-react'
import { useEffect, useMemo, useRef, useState, type ComponentProps, type ReactNode } from 'react'
import {
  useForm,
  type DefaultValues,
  type FieldError,
  type FieldErrors,
  type FieldValues,
  type Path,
  type PathValue,
  type UseFormHandleSubmit,
  type UseFormReturn,
} from 'react-hook-form'
import type { ZodType } from 'zod'
import { afterPress } from '@/lib/after-press'
import { toasts } from '@/lib/toast-queue'
import { typedBefore } from '@/lib/typed-before'
import { Field } from './field'
import { Button } from './ui/button'
import { Input } from './ui/input'

/** A schema, or what fetches one: then its code comes when the form is first touched, not with the page. */
type Schema<T extends FieldValues> = ZodType<T, T> | (() => Promise<ZodType<T, T>>)

function fetchRules<T extends FieldValues>(schema: Schema<T>) {
  return Promise.all([import('@hookform/resolvers/zod'), typeof schema === 'function' ? schema() : schema])
}

/** A press while an earlier one is still being worked on, from the rules to the reply, does nothing. */
function once<T extends FieldValues>(handleSubmit: UseFormHandleSubmit<T>): UseFormHandleSubmit<T> {
  let working = false
  return (onValid, onInvalid) => {
    const submit = handleSubmit(onValid, onInvalid)
    return (event) => {
      event?.preventDefault()
      if (working) return Promise.resolve(undefined)
      working = true
      return submit(event).finally(() => {
        working = false
      })
    }
  }
}

/**
 * A form that checks a field when it is left after an edit, and everything on submit; while typing, its
 * error goes away. Use `fieldProps` or the fields below, which do the wiring.
 */
export function useAppForm<T extends FieldValues>(schema: Schema<T>, defaultValues: DefaultValues<T>) {
  const form = useForm<T>({
    resolver: async (values, context, options) => {
      try {
        const [{ zodResolver }, fetched] = await fetchRules(schema)
        return await zodResolver(fetched)(values, context, options)
      } catch (error) {
        console.error(error)
        toasts.error('This form did not load completely. Check your connection and try again.')
        return { values: {}, errors: { root: { type: 'load' } } as FieldErrors<T> }
      }
    },
    defaultValues,
    mode: 'onSubmit',
    reValidateMode: 'onSubmit',
    shouldFocusError: false,
  })
  useEffect(() => {
    const fetchAtTouch = () => void fetchRules(schema).catch(() => null)
    addEventListener('focusin', fetchAtTouch, { once: true })
    for (const name of Object.keys(defaultValues) as Path<T>[]) {
      if (typeof form.getValues(name) !== 'string') continue
      const text = typedBefore.take(name)
      if (text && text !== form.getValues(name))
        form.setValue(name, text as PathValue<T, Path<T>>, { shouldDirty: true })
    }
    return () => removeEventListener('focusin', fetchAtTouch)
    // What was typed before the form was alive is handed over once.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [])
  return useMemo<UseFormReturn<T>>(
    () => ({
      ...form,
      handleSubmit: once(form.handleSubmit),
      // The library changes its own object, which stays the same.
      get formState() {
        return form.formState
      },
    }),
    [form],
  )
}

export function fieldProps<T extends FieldValues>(form: UseFormReturn<T>, name: Path<T>) {
  return form.register(name, {
    onChange: () => form.clearErrors(name),
    onBlur: () => {
      if (form.getFieldState(name).isDirty) afterPress(() => void form.trigger(name))
    },
  })
}

export function fieldError<T extends FieldValues>(form: UseFormReturn<T>, name: Path<T>): string | undefined {
  return (form.formState.errors as Partial<Record<string, FieldError>>)[name]?.message
}

interface TextFieldProps<T extends FieldValues> extends Omit<ComponentProps<typeof Input>, 'form' | 'name'> {
  form: UseFormReturn<T>
  name: Path<T>
  label: ReactNode
  hint?: ReactNode
  note?: ReactNode
  /** What is wrong beside the rules, such as a name that is taken. */
  error?: ReactNode
}

export function TextField<T extends FieldValues>({
  form,
  name,
  label,
  hint,
  note,
  error,
  ...rest
}: TextFieldProps<T>) {
  return (
    <Field label={label} hint={hint} note={note} error={fieldError(form, name) ?? error}>
      {(control) => <Input {...control} {...rest} {...fieldProps(form, name)} />}
    </Field>
  )
}

/** A password with its show toggle. Pasting is always allowed. */
export function PasswordField<T extends FieldValues>({
  form,
  name,
  label,
  hint,
  note,
  ...rest
}: Omit<TextFieldProps<T>, 'error'>) {
  const [shown, setShown] = useState(false)
  return (
    <Field label={label} hint={hint} note={note} error={fieldError(form, name)}>
      {(control) => (
        <span className="relative block">
          <Input
            {...control}
            {...rest}
            {...fieldProps(form, name)}
            type={shown ? 'text' : 'password'}
            className="pr-12"
          />
          <Button
            variant="ghost"
            size="icon"
            className="absolute inset-y-0 right-0 hover:bg-transparent"
            aria-label={shown ? 'Hide password' : 'Show password'}
            aria-pressed={shown}
            onClick={() => setShown(!shown)}
          >
            {shown ? <EyeOff aria-hidden /> : <Eye aria-hidden />}
          </Button>
        </span>
      )}
    </Field>
  )
}

/** Whose password it is, for password managers: they read no field of type hidden. */
export function KnownUsername({ value }: { value: string }) {
  return (
    <input
      type="text"
      name="username"
      autoComplete="username"
      value={value}
      readOnly
      tabIndex={-1}
      aria-hidden
      className="sr-only"
    />
  )
}

/**
 * Takes the focus after a failed submit: to the one field that is wrong, or, from two on, to a list of
 * links above the form. What several fields lack in one sentence stands there once, and leads to the first of them.
 */
export function ErrorSummary<T extends FieldValues>({ form }: { form: UseFormReturn<T> }) {
  const box = useRef<HTMLDivElement>(null)
  const { errors, submitCount, defaultValues } = form.formState
  // The values stand in the order of the form; the errors in the one in which they were found.
  const order = Object.keys(defaultValues ?? {})
  const found = Object.entries(errors as Record<string, FieldError | undefined>)
    .filter(([name, error]) => name !== 'root' && error?.message)
    .sort(([one], [other]) => order.indexOf(one) - order.indexOf(other))
  const several = found.length > 1
  const listed = found.filter(
    ([, error], index) => found.findIndex(([, other]) => other?.message === error?.message) === index,
  )
  const first = found[0]?.[0] as Path<T> | undefined
  useEffect(() => {
    if (submitCount === 0 || !first) return
    if (several) box.current?.focus()
    else form.setFocus(first)
    // Only a submit moves the focus; a field left with an error does not.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [submitCount])
  if (!several || submitCount === 0) return null
  return (
    <div
      ref={box}
      tabIndex={-1}
      role="group"
      aria-label="What to correct"
      className="rounded-control border border-destructive bg-destructive-soft p-4"
    >
      <p className="font-semibold">Please correct {found.length} fields.</p>
      <ul className="mt-1 list-disc pl-5">
        {listed.map(([name, error]) => (
          <li key={name}>
            <button
              type="button"
              className="text-link text-left align-top"
              onClick={() => form.setFocus(name as Path<T>)}
            >
              {error?.message}
            </button>
          </li>
        ))}
      </ul>
    </div>
  )
}
