import { ChevronRight, MailCheck, Pencil, Smartphone } from 'lucide-react'
import { useEffect, useState } from 'react'
import { Link, useSearchParams } from 'react-router'
import { Notice } from '@/components/notice'
import { Button } from '@/components/ui/button'
import { createdAccount, type CreatedAccount } from '@/lib/created-account'
import { paths } from '@/lib/paths'
import { memberSession } from '@/lib/session'
import { useStore } from '@/lib/store'
import { useInBrowser } from '@/lib/use-in-browser'
import { resendConfirmation } from './api'
import { ChangeAddress } from './change-address'
import {
  CodeEntry,
  OpeningDashboard,
  ResendRow,
  useLookForSession,
  WaitingRow,
  WaitingRows,
} from './check-email'
import { finishSignIn } from './finish-sign-in'
import { AuthPage } from './layout'
import { SignInForm } from './sign-in-form'
import { SignUpForm } from './sign-up-form'

interface CheckYourEmailProps {
  account: CreatedAccount
  /** While this page is open; empty after a reload. */
  password: string
  /** In the place of the form, which had the focus. */
  takesFocus: boolean
  onCreated: (account: CreatedAccount, password: string) => void
}

function CheckYourEmail({ account, password, takesFocus, onCreated }: CheckYourEmailProps) {
  const { email, createdAt } = account
  const [step, setStep] = useState<'code' | 'address' | 'sign-in'>('code')
  useLookForSession()
  if (step === 'sign-in') return <ConfirmedElsewhere email={email} onBack={() => setStep('code')} />
  return (
    <AuthPage
      title="Check your email"
      takesFocus={takesFocus}
      purpose={
        <>
          We sent a link and a six-digit code to{' '}
          <strong className="font-semibold wrap-anywhere text-foreground">{email}</strong>
        </>
      }
    >
      <CodeEntry type="signup" email={email} address={paths.dashboard} />
      <WaitingRows>
        <ResendRow sentAt={createdAt} onSend={() => resendConfirmation(email)} />
        {step === 'address' ? (
          <li className="py-4">
            <ChangeAddress
              account={account}
              password={password}
              onCreated={onCreated}
              onCancel={() => setStep('code')}
            />
          </li>
        ) : (
          <WaitingRow
            icon={Pencil}
            title="Wrong address?"
            hint="Your answers are kept."
            action={
              <Button variant="outline" onClick={() => setStep('address')}>
                Change address
              </Button>
            }
          />
        )}
        <li>
          <button
            type="button"
            className="flex min-h-14 w-full items-center gap-4 rounded-mark text-left font-semibold hover:text-primary"
            onClick={() => setStep('sign-in')}
          >
            <Smartphone className="size-5 stroke-[1.75] text-muted-foreground" aria-hidden />
            <span className="grow">I opened the link somewhere else</span>
            <ChevronRight className="size-5 stroke-[1.75] text-muted-foreground" aria-hidden />
          </button>
        </li>
      </WaitingRows>
    </AuthPage>
  )
}

/** The link was opened where this page cannot see it, such as in the browser inside a mail app. */
function ConfirmedElsewhere({ email, onBack }: { email: string; onBack: () => void }) {
  // After the field took the focus: what stands above it explains it.
  useEffect(() => {
    scrollTo(0, 0)
  }, [])
  return (
    <AuthPage
      icon={<MailCheck className="size-8 stroke-[1.5] text-positive" aria-hidden />}
      title="Email confirmed. Sign in to continue."
      purpose="The link was opened in another browser, perhaps inside your mail app. You are signed in there, not yet here."
    >
      <SignInForm
        email={email}
        isNew
        onSignedIn={async () => {
          await finishSignIn()
        }}
      />
      <Button variant="link" size="text" className="self-start" onClick={onBack}>
        Enter the code instead
      </Button>
    </AuthPage>
  )
}

function AlreadyIn({ email }: { email: string | null }) {
  return (
    <AuthPage title="You are signed in">
      <Notice tone="info" role="status">
        You are signed in as <strong className="font-semibold wrap-anywhere">{email}</strong>. To create
        another account, sign out first.
      </Notice>
      <Button asChild size="wide">
        <Link to={paths.dashboard}>Open the dashboard</Link>
      </Button>
    </AuthPage>
  )
}

export function SignUpPage() {
  const [params] = useSearchParams()
  const link = params.get('ref')?.trim() ?? ''
  const created = useStore<CreatedAccount | null>(createdAccount)
  const { status, email } = useStore(memberSession)
  const inBrowser = useInBrowser()
  const [password, setPassword] = useState('')
  const [sent, setSent] = useState(false)
  // The account is dropped as soon as somebody is signed in.
  const [waiting, setWaiting] = useState<CreatedAccount | null>(null)
  if (created && created !== waiting) setWaiting(created)

  // A stored session is being read.
  if (inBrowser && status === 'loading') return null
  if (status === 'member') {
    const isTheirs = waiting?.email.toLowerCase() === email?.toLowerCase()
    return isTheirs ? <OpeningDashboard title="Email confirmed." /> : <AlreadyIn email={email} />
  }
  if (created) {
    return (
      <CheckYourEmail
        key={created.createdAt}
        account={created}
        password={password}
        takesFocus={sent}
        onCreated={keep}
      />
    )
  }

  function keep(account: CreatedAccount, typed: string) {
    setPassword(typed)
    setSent(true)
    createdAccount.set(account)
  }

  return (
    <AuthPage
      title="Create your account"
      purpose={
        <>
          Already a member?{' '}
          <Link to={paths.signIn} className="text-link">
            Sign in
          </Link>
        </>
      }
    >
      <SignUpForm link={link === '' ? null : link} onCreated={keep} />
    </AuthPage>
  )
}
