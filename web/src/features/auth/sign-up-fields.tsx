import { CircleCheck, LoaderCircle, TriangleAlert } from 'lucide-react'
import type { ReactNode } from 'react'
import { Controller, useWatch, type UseFormReturn } from 'react-hook-form'
import { Link } from 'react-router'
import { ErrorLine } from '@/components/field'
import { fieldError, TextField } from '@/components/form'
import { Gauge } from '@/components/gauge'
import { Checkbox } from '@/components/ui/checkbox'
import { paths } from '@/lib/paths'
import { useUsernameCheck, type UsernameState } from '@/lib/use-username-check'
import type { SignUpValues } from './sign-up-schema'
import { passwordStrength } from './strength'

const usernameTaken = 'Username already exists. Please choose a different username.'

type SignUpForm = UseFormReturn<SignUpValues>

function UsernameNote({ state }: { state: UsernameState }): ReactNode {
  const notes = {
    idle: null,
    taken: null,
    checking: (
      <span className="flex items-center gap-1.5 text-muted-foreground">
        <LoaderCircle className="size-4 animate-spin" aria-hidden />
        Checking
      </span>
    ),
    available: (
      <span className="flex items-center gap-1.5 text-positive">
        <CircleCheck className="size-4" aria-hidden />
        Available
      </span>
    ),
    unknown: (
      <span className="flex items-center gap-1.5 text-warning">
        <TriangleAlert className="size-4" aria-hidden />
        Error checking username availability
      </span>
    ),
  }
  return notes[state]
}

export function UsernameField({ form, hint }: { form: SignUpForm; hint?: string }) {
  const state = useUsernameCheck(useWatch({ control: form.control, name: 'username' }).trim())
  return (
    <TextField
      form={form}
      name="username"
      label="Username"
      hint={hint ?? '3 to 30 letters, digits or underscores.'}
      note={fieldError(form, 'username') ? null : <UsernameNote state={state} />}
      error={state === 'taken' ? <span role="alert">{usernameTaken}</span> : null}
      autoComplete="username"
      autoCapitalize="none"
      spellCheck={false}
    />
  )
}

export function StrengthLine({ form }: { form: SignUpForm }) {
  const password = useWatch({ control: form.control, name: 'password' })
  if (!password) return null
  const { score, word } = passwordStrength(password)
  return (
    <div className="-mt-2">
      <Gauge
        label="Password strength"
        valueText={word}
        value={score}
        max={4}
        marks={[0, 1, 2, 3, 4].map((at) => ({ at }))}
        className="[--ground:var(--background)]"
      />
      <p className="text-compact text-muted-foreground">Strength: {word}</p>
    </div>
  )
}

export function ReadBox({ form }: { form: SignUpForm }) {
  const error = fieldError(form, 'read')
  return (
    <Controller
      control={form.control}
      name="read"
      render={({ field }) => (
        <div>
          <div className="flex min-h-11 items-center gap-3">
            <Checkbox
              id="read"
              ref={field.ref}
              checked={field.value}
              aria-invalid={error ? true : undefined}
              aria-describedby={error ? 'read-error' : undefined}
              onCheckedChange={(checked) => {
                field.onChange(checked === true)
                form.clearErrors('read')
              }}
            />
            <label htmlFor="read">
              I have read the{' '}
              <Link to={paths.terms} target="_blank" className="text-link">
                Terms
              </Link>{' '}
              and the{' '}
              <Link to={paths.risk} target="_blank" className="text-link">
                Risk
              </Link>{' '}
              page.
            </label>
          </div>
          {error ? <ErrorLine id="read-error">{error}</ErrorLine> : null}
        </div>
      )}
    />
  )
}
