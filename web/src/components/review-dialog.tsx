import { ArrowRight } from 'lucide-react'
import { useEffect, useId, useRef, useState, type ReactNode } from 'react'
import { Link } from 'react-router'
import { AskedBack, errorText, isUnanswered, Refusal } from '@/lib/errors'
import { paths } from '@/lib/paths'
import { offlineText, useOnline } from '@/lib/use-online'
import { ErrorLine } from './field'
import { Notice } from './notice'
import { Button } from './ui/button'
import { Dialog, DialogContent } from './ui/dialog'

export interface Fact {
  label: string
  value: ReactNode
}

/** What stands now and what will: "$100.00 → $350.00". */
export function Change({ from, to }: { from: ReactNode; to: ReactNode }) {
  return (
    <span className="inline-flex flex-wrap items-center gap-x-2">
      <span>{from}</span>
      <ArrowRight className="size-4 text-muted-foreground" aria-label="then" />
      <span className="font-semibold">{to}</span>
    </span>
  )
}

export function Facts({ facts }: { facts: Fact[] }) {
  return (
    <dl className="border-t">
      {facts.map((fact) => (
        <div key={fact.label} className="grid grid-cols-[minmax(104px,30%)_1fr] gap-3 border-b py-2.5">
          <dt className="text-muted-foreground">{fact.label}</dt>
          <dd className="min-w-0">{fact.value}</dd>
        </div>
      ))}
    </dl>
  )
}

interface ReviewDialogProps {
  open: boolean
  onClose: () => void
  title: string
  facts: Fact[]
  /** Flags, above the facts. */
  flags?: ReactNode
  /** Fields, such as a reason, below the facts. */
  children?: ReactNode
  warning: ReactNode
  /** "Approve $250.00" */
  confirmLabel: string
  /** "Approving..." */
  busyLabel: string
  /** The way out, where "Cancel" could be taken for the act itself. */
  dismissLabel?: string
  /** Said when no answer came within ten seconds. */
  lateText?: string
  destructive?: boolean
  /** Resolves when done; a rejection keeps the dialog open with the server's sentence. */
  onConfirm: () => Promise<void>
  /**
   * For acts that are done once however often they are asked for. A response that was lost is then said to be that;
   * this asks the server what is so, and may tell it in a sentence.
   */
  onUnanswered?: () => Promise<string | null>
  /** Shown when the refusal came without a sentence. */
  errorFallback: string
  /** Added where no answer came, so that nobody knows whether it was carried out. */
  unansweredText?: string
  /** Already decided elsewhere: only Close is left. */
  conflict?: ReactNode
  onCloseAutoFocus?: (event: Event) => void
}

const slow = 10_000

const lostText = 'The response was lost, so we don’t know whether this went through.'

type Confirmed = Pick<ReviewDialogProps, 'onConfirm' | 'onUnanswered' | 'errorFallback' | 'unansweredText'>

/** State of one confirmation: locked while sending, a word after ten seconds, open after a refusal or a lost response. */
function useConfirm({ onConfirm, onUnanswered, errorFallback, unansweredText }: Confirmed) {
  const [sending, setSending] = useState(false)
  const [late, setLate] = useState(false)
  const [lost, setLost] = useState<string | null>(null)
  const [refusal, setRefusal] = useState<{ text: string; isAlarm: boolean } | null>(null)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])

  async function send(): Promise<void> {
    setSending(true)
    setLate(false)
    setLost(null)
    setRefusal(null)
    timer.current = setTimeout(() => setLate(true), slow)
    try {
      await onConfirm()
    } catch (error) {
      if (error instanceof AskedBack) return
      if (onUnanswered && isUnanswered(error)) {
        setLost(lostText)
        const told = await onUnanswered().catch(() => null)
        if (told) setLost(told)
        return
      }
      const text = errorText(error, errorFallback)
      // Only an administrator is told which alarm it is.
      const isAlarm = error instanceof Refusal && error.code === 'ledger_alarm' && error.details !== null
      setRefusal({
        text: unansweredText && isUnanswered(error) ? `${text} ${unansweredText}` : text,
        isAlarm,
      })
    } finally {
      clearTimeout(timer.current)
      setSending(false)
      setLate(false)
    }
  }

  return { sending, late, lost, refusal, send }
}

/** Every decision about money passes here: what will happen, to whom, and that it cannot be undone. */
export function ReviewDialog(props: ReviewDialogProps) {
  const { open, title, facts, flags, children, warning, confirmLabel, busyLabel, conflict } = props
  const { lateText = 'No response yet. It is safe to retry: nothing is paid twice.' } = props
  const { sending, late, lost, refusal, send } = useConfirm(props)
  // Nothing was cancelled: it may well have been done.
  const dismissLabel = lost ? 'Close' : (props.dismissLabel ?? 'Cancel')
  const cancel = useRef<HTMLButtonElement>(null)
  const online = useOnline()
  const offline = useId()
  const locked = sending && !late
  function onClose() {
    // What is shown beneath is what is so by now, not by the time it was asked.
    if (lost) void props.onUnanswered?.().catch(() => null)
    props.onClose()
  }
  return (
    <Dialog open={open} onOpenChange={(next) => !next && !locked && onClose()}>
      <DialogContent
        title={title}
        closable={!locked}
        onCloseAutoFocus={props.onCloseAutoFocus}
        onOpenAutoFocus={(event) => {
          // Nothing that moves money is under the finger by itself.
          event.preventDefault()
          cancel.current?.focus()
        }}
        onEscapeKeyDown={(event) => locked && event.preventDefault()}
        onInteractOutside={(event) => event.preventDefault()}
        footer={
          conflict ? (
            <Button ref={cancel} variant="outline" onClick={onClose}>
              Close
            </Button>
          ) : (
            <>
              <Button ref={cancel} variant="outline" aria-disabled={locked} onClick={onClose}>
                {dismissLabel}
              </Button>
              <Button
                variant={props.destructive ? 'destructive' : 'default'}
                busy={locked && busyLabel}
                aria-disabled={!online}
                aria-describedby={online ? undefined : offline}
                onClick={() => void send()}
              >
                {late || lost ? 'Try again' : confirmLabel}
              </Button>
            </>
          )
        }
      >
        {conflict ? (
          <Notice tone="info" role="alert" className="mb-4">
            {conflict}
          </Notice>
        ) : (
          flags
        )}
        <Facts facts={facts} />
        {conflict ? null : (
          <>
            {children}
            <p className="mt-4">{warning}</p>
            <div role="alert">
              {online ? null : (
                <p id={offline} className="mt-3 text-warning">
                  {offlineText}
                </p>
              )}
              {late ? <p className="mt-3 text-warning">{lateText}</p> : null}
              {lost && !late ? (
                <p className="mt-3 text-warning">{lost} It is safe to try again: nothing is done twice.</p>
              ) : null}
              {refusal ? (
                <ErrorLine className="mt-3">
                  {refusal.text}
                  {refusal.isAlarm ? (
                    <>
                      {' '}
                      <Link to={paths.admin.alarms} className="text-link">
                        See alarms
                      </Link>
                    </>
                  ) : null}
                </ErrorLine>
              ) : null}
            </div>
          </>
        )}
      </DialogContent>
    </Dialog>
  )
}
