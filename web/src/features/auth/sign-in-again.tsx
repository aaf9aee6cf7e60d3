import { Dialog, DialogContent } from '@/components/ui/dialog'
import { useRefreshMember } from '@/lib/member'
import { memberSession } from '@/lib/session'
import { useStore } from '@/lib/store'
import { endedReason } from './ended-reason'
import { finishSignIn } from './finish-sign-in'
import { SignInForm } from './sign-in-form'
import { TotpForm } from './totp-step'

/** The email is filled in already: what is asked for is the password. */
function focusFirstUnknown(event: Event) {
  const dialog = event.currentTarget as HTMLElement | null
  const password = dialog?.querySelector<HTMLElement>('input[type=password]')
  if (!password) return
  event.preventDefault()
  password.focus()
}

/** Asks to sign in over a page that stays as it is, with everything that was typed there. */
export default function SignInAgain() {
  const { status, email, endedBy } = useStore(memberSession)
  const reason = endedReason(endedBy)
  const refresh = useRefreshMember()

  async function finish(): Promise<void> {
    if (memberSession.get().status === 'code') return
    if (await finishSignIn()) await refresh()
  }

  return (
    <Dialog open>
      <DialogContent
        title={status === 'code' ? 'Two-step sign-in' : 'Your session ended. Sign in to continue.'}
        closable={false}
        onOpenAutoFocus={focusFirstUnknown}
        onEscapeKeyDown={(event) => event.preventDefault()}
        onInteractOutside={(event) => event.preventDefault()}
      >
        <div className="flex flex-col gap-5">
          {status === 'ended' && reason ? <p>{reason}</p> : null}
          <p className="text-muted-foreground">This page stays as it is behind this message.</p>
          {status === 'code' ? (
            <TotpForm onVerified={finish} />
          ) : (
            <SignInForm email={email} onSignedIn={finish} />
          )}
        </div>
      </DialogContent>
    </Dialog>
  )
}
