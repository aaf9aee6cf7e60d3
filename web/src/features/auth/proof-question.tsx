import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useId, useState } from 'react'
import { z } from '@/lib/zod'
import { CodeInput, codeLength } from '@/components/code-input'
import { ErrorLine } from '@/components/field'
import { KnownUsername, PasswordField, useAppForm } from '@/components/form'
import { Button } from '@/components/ui/button'
import { Dialog, DialogContent } from '@/components/ui/dialog'
import { Skeleton } from '@/components/ui/skeleton'
import { codeRefusal } from '@/lib/code-refusal'
import { errorText, hasCode, toRefusal, unreachableText, type Refusal } from '@/lib/errors'
import { needsProof, prove, type ProofRequest } from '@/lib/proof'
import { memberSession } from '@/lib/session'
import { useStore } from '@/lib/store'
import { factorsQuery } from './api'

const schema = z.object({ password: z.string() })

interface Problem {
  at: 'password' | 'code' | 'all'
  text: string
}

function problemOf(error: Refusal): Problem {
  if (hasCode(error, 'invalid_credentials')) return { at: 'password', text: 'Wrong password' }
  if (hasCode(error, 'mfa_verification_failed', 'mfa_challenge_expired'))
    return { at: 'code', text: codeRefusal(error) }
  if (error.status === 429) return { at: 'all', text: 'Too many attempts. Wait a few minutes and try again.' }
  return { at: 'all', text: errorText(error, unreachableText) }
}

/**
 * Asks for the password, or the code of a device, over a page that stays as it is; the code of a new device counts only
 * with the password. Then the act goes on.
 */
export default function ProofQuestion({ request }: { request: ProofRequest }) {
  const { status, email } = useStore(memberSession)
  const queries = useQueryClient()
  const factors = useQuery(factorsQuery)
  const formId = useId()
  const form = useAppForm(schema, { password: '' })
  const [chosen, setChosen] = useState(0)
  const [code, setCode] = useState('')
  const [busy, setBusy] = useState(false)
  const [problem, setProblem] = useState<Problem | null>(null)
  // The server knows better how old a device is.
  const [wantsBoth, setWantsBoth] = useState(false)
  const devices = factors.data ?? []
  const device = devices[chosen % Math.max(1, devices.length)]
  const asksPassword = !device || (!request.isOwn && (device.isNew || wantsBoth))

  // The page asks to sign in; what was to be proved is another session's.
  const isOver = status !== 'member'
  useEffect(() => {
    if (isOver) request.cancel()
  }, [isOver, request])

  async function run(typed: string): Promise<void> {
    if (busy) return
    const password = asksPassword ? form.getValues('password') : null
    if (password === '') {
      form.setError('password', { message: 'Enter your password' }, { shouldFocus: true })
      return
    }
    if (device && typed.length !== codeLength) {
      setProblem({ at: 'code', text: 'Enter the six digits that your device shows now.' })
      return
    }
    setBusy(true)
    setProblem(null)
    try {
      const proof = {
        email: email ?? '',
        password,
        code: device ? { factorId: device.id, code: typed } : null,
      }
      await prove(proof, request.proceed)
    } catch (error) {
      fail(toRefusal(error))
    } finally {
      setBusy(false)
      // A password signs in apart; the list must not show that session.
      void queries.invalidateQueries({ queryKey: ['security'] })
    }
  }

  function fail(error: Refusal): void {
    console.error(error)
    if (needsProof(error) && device && !asksPassword) {
      setWantsBoth(true)
      setCode('')
      setProblem({ at: 'all', text: 'Enter your password too, and the next code of your device.' })
      return
    }
    const found = problemOf(error)
    if (found.at === 'password') form.setError('password', { message: found.text }, { shouldFocus: true })
    else setProblem(found)
  }

  function type(next: string): void {
    setCode(next)
    setProblem(null)
    if (next.length === codeLength && !asksPassword) void run(next)
  }

  return (
    <Dialog open onOpenChange={(next) => !next && !busy && request.cancel()}>
      <DialogContent
        title="Confirm that it’s you"
        description="For your security this needs a fresh proof. What you typed is kept."
        closable={!busy}
        onInteractOutside={(event) => event.preventDefault()}
        footer={
          <>
            <Button variant="outline" onClick={() => !busy && request.cancel()}>
              Cancel
            </Button>
            <Button type="submit" form={formId} busy={busy && 'Checking...'}>
              Continue
            </Button>
          </>
        }
      >
        <form
          id={formId}
          noValidate
          className="flex flex-col gap-4"
          onSubmit={(event) => {
            event.preventDefault()
            void run(code)
          }}
        >
          {factors.isPending ? (
            <Skeleton className="h-17 w-full" />
          ) : factors.isError ? (
            <ErrorLine>
              Your devices did not load.{' '}
              <Button variant="link" size="text" onClick={() => void factors.refetch()}>
                Retry
              </Button>
            </ErrorLine>
          ) : (
            <>
              {asksPassword ? (
                <>
                  <KnownUsername value={email ?? ''} />
                  <PasswordField
                    form={form}
                    name="password"
                    label="Your password"
                    autoComplete="current-password"
                    // The dialog is opened to type this.
                    // eslint-disable-next-line jsx-a11y/no-autofocus
                    autoFocus
                  />
                </>
              ) : null}
              {device ? (
                <CodeInput
                  value={code}
                  hint={`Open your authenticator app for ${device.name}.`}
                  error={problem?.at === 'code' ? problem.text : null}
                  takesFocus={!asksPassword}
                  onChange={type}
                />
              ) : null}
              {devices.length > 1 ? (
                <Button
                  variant="link"
                  size="text"
                  className="self-start"
                  onClick={() => setChosen(chosen + 1)}
                >
                  Use another device
                </Button>
              ) : null}
            </>
          )}
          <div role="alert" className="empty:hidden">
            {problem?.at === 'all' ? <ErrorLine>{problem.text}</ErrorLine> : null}
          </div>
        </form>
      </DialogContent>
    </Dialog>
  )
}
