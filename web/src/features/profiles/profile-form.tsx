import { CircleCheck, LoaderCircle, TriangleAlert } from 'lucide-react'
import { useWatch } from 'react-hook-form'
import { z } from '@/lib/zod'
import { ErrorLine } from '@/components/field'
import { ErrorSummary, fieldError, TextField, useAppForm } from '@/components/form'
import { LeaveGuard } from '@/components/leave-guard'
import { Button } from '@/components/ui/button'
import { errorText, hasCode, Refusal } from '@/lib/errors'
import type { MemberProfile } from '@/lib/member'
import { isCancelled } from '@/lib/proof'
import { memberSession } from '@/lib/session'
import { useStore } from '@/lib/store'
import { toasts } from '@/lib/toast-queue'
import { usernamePattern, useUsernameCheck, type UsernameState } from '@/lib/use-username-check'
import { useUpdateProfile } from './api'
import { EmailChangeNotice } from './email-change-notice'

const required = 'Please fill in all required fields'
const taken = 'Username already exists. Please choose a different username.'

const schema = z.object({
  username: z
    .string()
    .trim()
    .min(1, required)
    .regex(usernamePattern, 'Use 3 to 30 letters, digits or underscores'),
  email: z.string().trim().min(1, required).pipe(z.email('Enter an email address, such as name@example.com')),
})

type Values = z.infer<typeof schema>

export function ProfileForm({ profile }: { profile: MemberProfile }) {
  const session = useStore(memberSession)
  const present = session.email ?? profile.email ?? ''
  const values: Values = { username: profile.username ?? '', email: present }
  const form = useAppForm<Values>(schema, values)
  const update = useUpdateProfile()
  const username = useWatch({ control: form.control, name: 'username' })
  const state = useUsernameCheck(username.trim(), profile.username)

  async function save(changed: Values) {
    if (state === 'taken') {
      form.setError('username', { message: taken }, { shouldFocus: true })
      return
    }
    try {
      const { confirm } = await update.mutateAsync({
        ...changed,
        userId: profile.user_id,
        presentEmail: present,
      })
      form.reset({ username: changed.username, email: present })
      toasts.success(
        'Profile updated successfully',
        confirm ? { description: `Open the links sent to ${present} and ${changed.email}.` } : {},
      )
    } catch (error) {
      if (!isCancelled(error)) refuse(error)
    }
  }

  function refuse(error: unknown) {
    if (hasCode(error, 'username_taken', 'invalid_username') && error instanceof Refusal) {
      form.setError('username', { message: error.message }, { shouldFocus: true })
    } else if (hasCode(error, 'email_exists', 'email_address_invalid', 'validation_failed')) {
      form.setError(
        'email',
        { message: 'Invalid email address or email already in use.' },
        { shouldFocus: true },
      )
    } else {
      const text = 'Failed to update profile. Please try again.'
      form.setError('root', { message: errorText(error, text) })
      toasts.error(text)
    }
  }

  return (
    <form
      noValidate
      aria-label="Profile"
      className="flex flex-col gap-5"
      onSubmit={(event) => void form.handleSubmit(save)(event)}
    >
      <LeaveGuard when={form.formState.isDirty} />
      <ErrorSummary form={form} />
      <TextField
        form={form}
        name="username"
        label="Username"
        autoComplete="username"
        autoCapitalize="none"
        spellCheck={false}
        hint="3 to 30 letters, digits or underscores. Shown to your sponsor and your team."
        note={<UsernameNote state={state} shown={fieldError(form, 'username') === undefined} />}
      />
      <TextField form={form} name="email" label="Email" type="email" autoComplete="email" />
      {session.newEmail ? <EmailChangeNotice /> : null}
      {form.formState.errors.root?.message ? (
        <ErrorLine>{form.formState.errors.root.message}</ErrorLine>
      ) : null}
      <Button type="submit" className="self-start" busy={update.isPending && 'Saving...'}>
        Save profile
      </Button>
    </form>
  )
}

function UsernameNote({ state, shown }: { state: UsernameState; shown: boolean }) {
  if (state === 'checking') {
    return (
      <span className="flex items-center gap-1.5 text-muted-foreground">
        <LoaderCircle className="size-4 animate-spin" aria-hidden />
        Checking
      </span>
    )
  }
  if (state === 'available') {
    return (
      <span className="flex items-center gap-1.5 text-positive">
        <CircleCheck className="size-4" aria-hidden />
        Available
      </span>
    )
  }
  if (state === 'taken' && shown) return <ErrorLine>{taken}</ErrorLine>
  if (state === 'unknown') {
    return (
      <span className="flex items-center gap-1.5 text-warning">
        <TriangleAlert className="size-4" aria-hidden />
        Error checking username availability
      </span>
    )
  }
  return null
}
