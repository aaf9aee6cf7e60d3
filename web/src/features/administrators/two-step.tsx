import { ShieldCheck, ShieldOff } from 'lucide-react'
import { useState } from 'react'
import { AuthenticatorSecret } from '@/components/authenticator-secret'
import { CodeForm } from '@/components/code-form'
import { ErrorLine } from '@/components/field'
import { Button } from '@/components/ui/button'
import type { Administrator } from '@/lib/administrator-session'
import { errorText } from '@/lib/errors'
import { toasts } from '@/lib/toast-queue'
import { useEnroll, useTwoStep, type Enrollment } from './api'

/** The account's second step: set up with a device's first code, turned off with a fresh one. */
export function TwoStep({ admin }: { admin: Administrator }) {
  const enroll = useEnroll()
  const turn = useTwoStep()
  const [enrollment, setEnrollment] = useState<Enrollment | null>(null)
  const [leaving, setLeaving] = useState(false)
  const on = admin.two_step

  function stop() {
    setEnrollment(null)
    setLeaving(false)
  }

  async function show(code: string) {
    await turn.mutateAsync({ on: !on, code })
    toasts.success(on ? 'Two-step sign-in is off' : 'Two-step sign-in is on')
    stop()
  }

  return (
    <div className="flex flex-col gap-4">
      <p className="flex items-start gap-2.5">
        {on ? (
          <ShieldCheck className="mt-0.5 size-5 stroke-[1.75] text-positive" aria-hidden />
        ) : (
          <ShieldOff className="mt-0.5 size-5 stroke-[1.75] text-muted-foreground" aria-hidden />
        )}
        {on
          ? 'On. Signing in needs your password and a code from your authenticator app.'
          : 'Off. Finance and super administrators need it before real money is accepted.'}
      </p>
      {enrollment ? <AuthenticatorSecret {...enrollment} /> : null}
      {enrollment || leaving ? (
        <CodeForm confirmLabel={on ? 'Turn off' : 'Turn on'} destructive={on} onCode={show} onCancel={stop} />
      ) : (
        <Button
          variant="outline"
          className="self-start"
          busy={enroll.isPending && 'Preparing...'}
          onClick={() => (on ? setLeaving(true) : enroll.mutate(undefined, { onSuccess: setEnrollment }))}
        >
          {on ? 'Turn off' : 'Set up two-step sign-in'}
        </Button>
      )}
      {enroll.isError ? (
        <ErrorLine>{errorText(enroll.error, 'The second step could not be prepared.')}</ErrorLine>
      ) : null}
    </div>
  )
}
