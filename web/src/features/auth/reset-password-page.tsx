import { useEffect, useRef, useState } from 'react'
import { Navigate, useNavigate } from 'react-router'
import { z } from '@/lib/zod'
import { ErrorLine } from '@/components/field'
import { ErrorSummary, PasswordField, useAppForm } from '@/components/form'
import { Button } from '@/components/ui/button'
import { isEasyToGuess, tooEasy } from '@/lib/easy-password'
import { errorText, hasCode, unreachableText } from '@/lib/errors'
import { paths } from '@/lib/paths'
import { isCancelled } from '@/lib/proof'
import { memberSession } from '@/lib/session'
import { useStore } from '@/lib/store'
import { toasts } from '@/lib/toast-queue'
import { setNewPassword } from './api'
import { AuthPage } from './layout'
import { LinkExpired } from './link-expired-page'
import { TotpStep } from './totp-step'

const schema = z
  .object({
    password: z
      .string()
      .min(6, 'Password too short')
      .refine((password) => !isEasyToGuess(password), tooEasy),
    again: z.string().min(1, 'Enter the new password again'),
  })
  .refine(({ password, again }) => password === again || again === '', {
    path: ['again'],
    message: 'Password mismatch',
  })

/**
 * A recovery link signs in first; here the new password is set, and every other sign-in ends. Who signed in another
 * way changes the password in the settings, which ask for the present one.
 */
export function ResetPasswordPage() {
  const { status, linkType } = useStore(memberSession)
  const navigate = useNavigate()
  const form = useAppForm(schema, { password: '', again: '' })
  const [problem, setProblem] = useState<string | null>(null)
  const done = useRef(false)
  useEffect(() => {
    void memberSession.start()
    // Not before the next page stands: without its recovery this one leads to the settings.
    return () => {
      if (done.current) memberSession.endRecovery()
    }
  }, [])

  async function submit({ password }: z.infer<typeof schema>): Promise<void> {
    setProblem(null)
    try {
      await setNewPassword(password)
      toasts.success('Password updated successfully', { description: 'Other devices were signed out.' })
      done.current = true
      await navigate(paths.dashboard, { replace: true })
    } catch (error) {
      console.error(error)
      if (isCancelled(error)) return
      setProblem(
        hasCode(error, 'current_password_required')
          ? 'This link is too old to set a password. Ask for a new one.'
          : errorText(error, unreachableText),
      )
    }
  }

  if (status === 'loading') return null
  if (status === 'none') return <LinkExpired kind="recovery" />
  if (status === 'code') return <TotpStep onVerified={() => Promise.resolve()} />
  if (linkType !== 'recovery') return <Navigate to={paths.settings} replace />
  return (
    <AuthPage
      title="Set a new password"
      purpose="You stay signed in here and are signed out everywhere else."
    >
      <form
        noValidate
        className="flex flex-col gap-5"
        onSubmit={(event) => void form.handleSubmit(submit)(event)}
      >
        <ErrorSummary form={form} />
        <PasswordField
          form={form}
          name="password"
          label="New password"
          hint="At least 6 characters. Longer is stronger."
          autoComplete="new-password"
        />
        <PasswordField form={form} name="again" label="New password again" autoComplete="new-password" />
        <div role="alert" className="empty:hidden">
          {problem ? <ErrorLine>{problem}</ErrorLine> : null}
        </div>
        <Button type="submit" size="wide" busy={form.formState.isSubmitting && 'Saving...'}>
          Set password
        </Button>
      </form>
    </AuthPage>
  )
}
