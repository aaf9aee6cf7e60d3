import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { CodeInput, codeLength } from '@/components/code-input'
import { Notice } from '@/components/notice'
import { SupportLink } from '@/components/support-link'
import { Button } from '@/components/ui/button'
import { codeRefusal } from '@/lib/code-refusal'
import { memberSession } from '@/lib/session'
import { AuthPage } from './layout'
import { factorsQuery, verifyCode } from './api'

interface TotpStepProps {
  /** The code was right; the session is a full one now. */
  onVerified: () => Promise<void>
}

/** The second factor, on a page of its own. */
export function TotpStep({ onVerified }: TotpStepProps) {
  return (
    <AuthPage title="Two-step sign-in">
      <TotpForm onVerified={onVerified} />
    </AuthPage>
  )
}

/** The second factor. Sends by itself at the sixth digit. */
export function TotpForm({ onVerified }: TotpStepProps) {
  const factors = useQuery(factorsQuery)
  const [chosen, setChosen] = useState(0)
  const [code, setCode] = useState('')
  const [sending, setSending] = useState(false)
  const [problem, setProblem] = useState<string | null>(null)
  const [lost, setLost] = useState(false)
  const devices = factors.data ?? []
  const device = devices[chosen % Math.max(1, devices.length)]

  async function send(typed: string): Promise<void> {
    if (sending) return
    if (typed.length !== codeLength) {
      setProblem('Enter the six digits that your device shows now.')
      return
    }
    setSending(true)
    setProblem(null)
    try {
      // A code that was filled in before the devices are known waits for them.
      const known = device ?? (await factors.refetch({ throwOnError: true })).data?.[0]
      if (!known) throw new Error('no device')
      await verifyCode(known.id, typed)
      await onVerified()
    } catch (error) {
      console.error(error)
      setProblem(codeRefusal(error))
    } finally {
      setSending(false)
    }
  }

  function type(next: string): void {
    setCode(next)
    setProblem(null)
    if (next.length === codeLength) void send(next)
  }

  return (
    <>
      {factors.isError && !sending ? (
        <Notice
          tone="warning"
          role="alert"
          action={
            <Button
              variant="outline"
              size="compact"
              busy={factors.isFetching && 'Loading'}
              onClick={() => void (code.length === codeLength ? send(code) : factors.refetch())}
            >
              Retry
            </Button>
          }
        >
          Your devices did not load.
        </Notice>
      ) : null}
      <form
        noValidate
        className="flex flex-col gap-5"
        onSubmit={(event) => {
          event.preventDefault()
          void send(code)
        }}
      >
        <CodeInput
          value={code}
          hint={device ? `Open your authenticator app for ${device.name}.` : 'Open your authenticator app.'}
          error={factors.isError ? null : problem}
          takesFocus
          onChange={type}
        />
        <Button type="submit" size="wide" busy={sending && 'Checking...'}>
          Sign in
        </Button>
      </form>
      <div className="flex flex-wrap gap-3">
        {devices.length > 1 ? (
          <Button variant="outline" onClick={() => setChosen(chosen + 1)}>
            Use another device
          </Button>
        ) : null}
        <Button variant="outline" aria-expanded={lost} onClick={() => setLost(!lost)}>
          I lost my device
        </Button>
        <Button variant="ghost" onClick={() => void memberSession.drop(null)}>
          Cancel
        </Button>
      </div>
      {lost ? (
        <Notice tone="info" action={<SupportLink />}>
          Use your backup device. If you have none, contact support; we check who you are before removing
          two-step sign-in.
        </Notice>
      ) : null}
    </>
  )
}
