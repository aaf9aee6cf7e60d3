import { Mail, type LucideIcon } from 'lucide-react'
import { useEffect, useState, type ReactNode } from 'react'
import { useNavigate } from 'react-router'
import { CodeInput, codeLength } from '@/components/code-input'
import { ResendButton } from '@/components/resend-button'
import { Button } from '@/components/ui/button'
import { errorText, hasCode, isUnanswered, Refusal, unreachableText } from '@/lib/errors'
import { memberSession } from '@/lib/session'
import { paths } from '@/lib/paths'
import { openMailCode } from './api'
import { AuthPage } from './layout'

const every = 10_000

/** Looks for a session that another tab opened: often, and whenever the page is looked at again. */
export function useLookForSession(): void {
  useEffect(() => {
    const look = () => {
      if (document.visibilityState === 'visible') void memberSession.look().catch(console.error)
    }
    look()
    const timer = setInterval(look, every)
    document.addEventListener('visibilitychange', look)
    return () => {
      clearInterval(timer)
      document.removeEventListener('visibilitychange', look)
    }
  }, [])
}

function problemOf(error: unknown): string {
  if (hasCode(error, 'otp_expired', 'validation_failed'))
    return 'That code did not match. Use the code from the newest email.'
  if (error instanceof Refusal && error.status === 429)
    return 'Too many attempts. Wait a few minutes and try again.'
  return errorText(error, unreachableText)
}

interface CodeEntryProps {
  type: 'signup' | 'recovery'
  email: string
  /** The page that is next. */
  address: string
}

/** The six digits of the email, sent by themselves at the last one. */
export function CodeEntry({ type, email, address }: CodeEntryProps) {
  const navigate = useNavigate()
  const [code, setCode] = useState('')
  const [busy, setBusy] = useState(false)
  const [problem, setProblem] = useState<{ text: string; canRetry: boolean } | null>(null)

  async function send(typed: string): Promise<void> {
    if (busy) return
    if (typed.length !== codeLength) {
      setProblem({ text: 'Enter the six digits of the email.', canRetry: false })
      return
    }
    setBusy(true)
    setProblem(null)
    try {
      const isIn = await openMailCode({ type, email, code: typed, address })
      // After a sign-up the page sees by itself that somebody is signed in.
      if (isIn && type === 'recovery') await navigate(address, { replace: true })
    } catch (error) {
      console.error(error)
      setProblem({ text: problemOf(error), canRetry: isUnanswered(error) })
    } finally {
      setBusy(false)
    }
  }

  return (
    <form
      noValidate
      className="flex flex-col gap-3"
      onSubmit={(event) => {
        event.preventDefault()
        void send(code)
      }}
    >
      <CodeInput
        value={code}
        note={
          <span className="text-muted-foreground">
            Continues by itself at the sixth digit. You can also open the link in the email.
          </span>
        }
        error={problem ? <span role="alert">{problem.text}</span> : null}
        onChange={(next) => {
          if (busy) return
          setCode(next)
          setProblem(null)
          if (next.length === codeLength) void send(next)
        }}
      />
      <span role="status" className="text-compact text-muted-foreground empty:hidden">
        {busy ? 'Checking...' : ''}
      </span>
      {problem?.canRetry ? (
        <Button type="submit" variant="outline" className="self-start">
          Retry
        </Button>
      ) : null}
    </form>
  )
}

/** What else can be done while an email is waited for, each with its act. */
export function WaitingRows({ children }: { children: ReactNode }) {
  return <ul className="divide-y border-y">{children}</ul>
}

interface WaitingRowProps {
  icon: LucideIcon
  title: string
  hint?: string
  action: ReactNode
}

export function WaitingRow({ icon: Icon, title, hint, action }: WaitingRowProps) {
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-2 py-4">
      <span className="flex min-w-0 grow basis-44 items-start gap-4">
        <Icon className="mt-0.5 size-5 stroke-[1.75] text-muted-foreground" aria-hidden />
        <span className="min-w-0">
          <span className="block font-semibold">{title}</span>
          {hint ? <span className="block text-muted-foreground">{hint}</span> : null}
        </span>
      </span>
      {action}
    </li>
  )
}

interface ResendRowProps {
  /** When the last one was sent, in milliseconds. */
  sentAt: number
  onSend: () => Promise<void>
}

export function ResendRow(props: ResendRowProps) {
  return (
    <WaitingRow
      icon={Mail}
      title="Nothing there?"
      hint="Check your spam folder first."
      action={<ResendButton label="Resend" {...props} />}
    />
  )
}

// Long enough to be read.
const pause = 1500

/** The session is there, whichever tab opened it. */
export function OpeningDashboard({ title }: { title: string }) {
  const navigate = useNavigate()
  useEffect(() => {
    const timer = setTimeout(() => void navigate(paths.dashboard, { replace: true }), pause)
    return () => clearTimeout(timer)
  }, [navigate])
  return (
    <AuthPage title={title} takesFocus>
      <p role="status">{title} Opening your dashboard.</p>
    </AuthPage>
  )
}
