import { useRef, useState } from 'react'
import { Link } from 'react-router'
import { ErrorLine } from '@/components/field'
import { Notice } from '@/components/notice'
import { Button } from '@/components/ui/button'
import { readConfig } from '@/lib/config'
import { errorText, hasCode, unreachableText } from '@/lib/errors'
import { paths } from '@/lib/paths'
import { useInBrowser } from '@/lib/use-in-browser'
import { openMailLink } from './api'
import { readMailLink, type LinkKind, type MailLink } from './confirm-link'
import { AuthPage } from './layout'

interface Words {
  title: string
  /** What the press does. */
  text: string
  button: string
}

const words: Record<LinkKind, Words> = {
  signup: {
    title: 'Confirm your email',
    text: 'This confirms your email address and signs you in.',
    button: 'Confirm email',
  },
  invite: {
    title: 'Accept your invitation',
    text: 'This confirms your email address and signs you in to your new account.',
    button: 'Accept invitation',
  },
  recovery: {
    title: 'Reset your password',
    text: 'This signs you in here, so that you can set a new password.',
    button: 'Continue',
  },
  magiclink: {
    title: 'Sign in',
    text: 'This signs you in here, without a password.',
    button: 'Sign in',
  },
  email_change: {
    title: 'Change your email',
    text: 'This agrees to the new email address of your account. It changes once the links sent to both addresses are opened.',
    button: 'Confirm change',
  },
}

/** What a link of an email will do, which is done at a press: programs that open links to look at them do nothing. */
export function ConfirmPage() {
  return useInBrowser() ? <Opened /> : null
}

function Opened() {
  const [link] = useState(() => readMailLink(location.search, location.origin, readConfig().supabaseUrl))
  return link ? <Question link={link} /> : <NotWhole />
}

function NotWhole() {
  return (
    <AuthPage title="This link is not complete">
      <Notice tone="warning" role="status">
        A part of its address is missing or wrong. Open the link in the email again, or copy the whole
        address.
      </Notice>
      <Button asChild size="wide" variant="outline">
        <Link to={paths.signIn}>Sign in</Link>
      </Button>
    </AuthPage>
  )
}

function Question({ link }: { link: MailLink }) {
  const { title, text, button } = words[link.kind]
  const [busy, setBusy] = useState(false)
  // Another press can come before the button is shown as busy.
  const isOpening = useRef(false)
  const [problem, setProblem] = useState<string | null>(null)

  async function open(): Promise<void> {
    if (isOpening.current) return
    isOpening.current = true
    setBusy(true)
    setProblem(null)
    try {
      // In the place of this page, so that going back does not find the link again.
      location.replace(
        link.page === null ? link.serviceAddress : await openMailLink(link.kind, link.tokenHash, link.page),
      )
    } catch (error) {
      console.error(error)
      if (hasCode(error, 'otp_expired'))
        location.replace(`${paths.linkExpired}${link.kind === 'recovery' ? '?kind=recovery' : ''}`)
      else {
        setProblem(errorText(error, unreachableText))
        setBusy(false)
        isOpening.current = false
      }
    }
  }

  return (
    <AuthPage title={title} purpose={text}>
      {link.site ? <p className="wrap-anywhere">Then it leads to {link.site}.</p> : null}
      <div role="alert" className="empty:hidden">
        {problem ? <ErrorLine>{problem}</ErrorLine> : null}
      </div>
      <Button
        size="wide"
        // The person came here to press this and nothing else.
        // eslint-disable-next-line jsx-a11y/no-autofocus
        autoFocus
        busy={busy && 'One moment...'}
        onClick={() => void open()}
      >
        {button}
      </Button>
      <p className="text-compact text-muted-foreground">
        Nothing happens before you press. If you did not ask for this email, close this page.
      </p>
    </AuthPage>
  )
}
