import { Eye, EyeOff } from 'lucide-react'
import { useEffect, useState } from 'react'
import { Button } from '@/components/ui/button'
import { Tooltip } from '@/components/ui/tooltip'
import { cn } from '@/lib/cn'
import { errorText } from '@/lib/errors'
import { toasts } from '@/lib/toast-queue'
import { useMoneyForbidden } from '@/lib/use-admin-role'
import { revealPassword, type AdminSubscription } from './admin-api'

const shownFor = 30_000

interface MaskedPasswordProps {
  subscription: AdminSubscription
  /** One row at a time: opening another closes this one. */
  open: boolean
  onOpen: (open: boolean) => void
}

/** Asterisks of the password's length; the password itself for 30 seconds, when the role may see it. */
export function MaskedPassword({ subscription, open, onOpen }: MaskedPasswordProps) {
  const forbidden = useMoneyForbidden()
  const [password, setPassword] = useState<string | null>(null)
  const [busy, setBusy] = useState(false)
  const shown = open ? password : null

  useEffect(() => {
    if (shown === null) return
    const timer = setTimeout(() => {
      setPassword(null)
      onOpen(false)
    }, shownFor)
    return () => clearTimeout(timer)
  }, [shown, onOpen])

  async function turn() {
    if (shown !== null) {
      setPassword(null)
      onOpen(false)
      return
    }
    setBusy(true)
    try {
      setPassword(await revealPassword(subscription.id))
      onOpen(true)
    } catch (error) {
      toasts.error('Error', { description: errorText(error, 'The password could not be opened.') })
    } finally {
      setBusy(false)
    }
  }

  const name = `the MT5 password of ${subscription.username}`
  return (
    <span className="inline-flex max-w-full items-center gap-1">
      {/* The asterisks may be cut, with what is said after them; the password itself is wanted whole. */}
      <span
        className={cn('min-w-0 font-mono text-compact', shown === null ? 'relative truncate' : 'break-all')}
        aria-live="polite"
      >
        {shown ?? (
          <>
            <span aria-hidden>{'*'.repeat(subscription.mt5_password_length)}</span>
            <span className="sr-only">hidden</span>
          </>
        )}
      </span>
      {subscription.mt5_password_length > 0 ? (
        <Tooltip content={forbidden ?? 'Each reveal is recorded'}>
          <Button
            variant="ghost"
            size="icon-compact"
            aria-label={shown === null ? `Show ${name}` : `Hide ${name}`}
            aria-description={forbidden ?? 'Each reveal is recorded'}
            aria-disabled={forbidden !== null || busy}
            onClick={() => forbidden === null && !busy && void turn()}
          >
            {shown === null ? <Eye aria-hidden /> : <EyeOff aria-hidden />}
          </Button>
        </Tooltip>
      ) : null}
    </span>
  )
}
