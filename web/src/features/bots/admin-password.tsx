import { Eye, EyeOff } from 'lucide-react'
import { createContext, use, useCallback, useEffect, useMemo, useState, type ReactNode } from 'react'
import { Button } from '@/components/ui/button'
import { Tooltip } from '@/components/ui/tooltip'
import { errorText } from '@/lib/errors'
import { toasts } from '@/lib/toast-queue'
import { useMoneyForbidden } from '@/lib/use-admin-role'
import { revealPassword, type AdminSubscription } from './admin-api'

const shownFor = 30_000

interface Reveal {
  /** The one password in sight. */
  shown: { id: string; password: string } | null
  show: (id: string, password: string) => void
  hide: () => void
}

const Revealed = createContext<Reveal>({ shown: null, show: () => undefined, hide: () => undefined })

/** Keeps the one password that is in sight, apart from the rows: a list that is read again makes its cells anew. */
export function RevealedPassword({ children }: { children: ReactNode }) {
  const [shown, setShown] = useState<Reveal['shown']>(null)
  const show = useCallback((id: string, password: string) => setShown({ id, password }), [])
  const hide = useCallback(() => setShown(null), [])
  useEffect(() => {
    if (shown === null) return
    const timer = setTimeout(hide, shownFor)
    return () => clearTimeout(timer)
  }, [shown, hide])
  const reveal = useMemo(() => ({ shown, show, hide }), [shown, show, hide])
  return <Revealed value={reveal}>{children}</Revealed>
}

const mostAsterisks = 64

/** Asterisks of the password's length, beyond a line or two the length in words; the password itself for 30 seconds, when the role may see it. */
export function MaskedPassword({ subscription }: { subscription: AdminSubscription }) {
  const { id, username, mt5_password_length: length } = subscription
  const forbidden = useMoneyForbidden()
  const { shown: one, show, hide } = use(Revealed)
  const [busy, setBusy] = useState(false)
  const shown = one?.id === id ? one.password : null

  async function turn() {
    if (shown !== null) {
      hide()
      return
    }
    setBusy(true)
    try {
      show(id, await revealPassword(id))
    } catch (error) {
      toasts.error('Error', { description: errorText(error, 'The password could not be revealed.') })
    } finally {
      setBusy(false)
    }
  }

  const name = `the MT5 password of ${username}`
  return (
    <span className="inline-flex max-w-full items-center gap-1">
      <span className="relative min-w-0 py-1 font-mono text-compact break-all" aria-live="polite">
        {shown ?? (
          <>
            <span aria-hidden>
              {'*'.repeat(Math.min(length, mostAsterisks))}
              {length > mostAsterisks ? (
                <span className="block break-normal">{`... ${length} characters`}</span>
              ) : null}
            </span>
            <span className="sr-only">hidden</span>
          </>
        )}
      </span>
      {length > 0 ? (
        <Tooltip content={forbidden ?? 'Every reveal is logged'}>
          <Button
            variant="ghost"
            size="icon-compact"
            aria-label={shown === null ? `Show ${name}` : `Hide ${name}`}
            aria-description={forbidden ?? 'Every reveal is logged'}
            aria-disabled={forbidden !== null || busy}
            onClick={() => void turn()}
          >
            {shown === null ? <Eye aria-hidden /> : <EyeOff aria-hidden />}
          </Button>
        </Tooltip>
      ) : null}
    </span>
  )
}
