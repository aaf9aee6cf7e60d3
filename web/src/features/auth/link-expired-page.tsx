import { useState } from 'react'
import { Link, useSearchParams } from 'react-router'
import { ErrorLine } from '@/components/field'
import { TextField, useAppForm } from '@/components/form'
import { Notice } from '@/components/notice'
import { Button } from '@/components/ui/button'
import { Refusal, unreachableText } from '@/lib/errors'
import { paths } from '@/lib/paths'
import { requestPasswordReset, resendConfirmation } from './api'
import type { EmailValues } from './email-schema'
import { AuthPage } from './layout'

const schema = () => import('./email-schema').then((file) => file.emailSchema)

/** A mail link that no longer works, and the way to a new one of the same kind. */
export function LinkExpired({ kind }: { kind: 'signup' | 'recovery' }) {
  const form = useAppForm<EmailValues>(schema, { email: '' })
  const [sentTo, setSentTo] = useState<string | null>(null)
  const [unreachable, setUnreachable] = useState(false)
  const send = kind === 'recovery' ? requestPasswordReset : resendConfirmation

  async function submit({ email }: EmailValues): Promise<void> {
    setUnreachable(false)
    try {
      await send(email)
      setSentTo(email)
    } catch (error) {
      console.error(error)
      if (error instanceof Refusal && error.speaks) setSentTo(email)
      else setUnreachable(true)
    }
  }

  return (
    <AuthPage
      title="This link has expired or was already used."
      purpose="Links work only once and expire soon."
    >
      {sentTo ? (
        <Notice tone="info" role="status">
          If {sentTo} is waiting for one, a new link is on its way.
        </Notice>
      ) : (
        <form
          noValidate
          className="flex flex-col gap-5"
          onSubmit={(event) => void form.handleSubmit(submit)(event)}
        >
          <TextField
            form={form}
            name="email"
            label="Email"
            type="email"
            inputMode="email"
            autoComplete="email"
          />
          <div role="alert" className="empty:hidden">
            {unreachable ? <ErrorLine>{unreachableText}</ErrorLine> : null}
          </div>
          <Button type="submit" size="wide" busy={form.formState.isSubmitting && 'Sending...'}>
            Send a new link
          </Button>
        </form>
      )}
      <Link
        to={paths.signIn}
        className="text-link inline-flex min-h-6 items-center self-start pointer-coarse:min-h-11"
      >
        Sign in
      </Link>
    </AuthPage>
  )
}

export function LinkExpiredPage() {
  const [params] = useSearchParams()
  return <LinkExpired kind={params.get('kind') === 'recovery' ? 'recovery' : 'signup'} />
}
