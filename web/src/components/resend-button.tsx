import { useEffect, useState } from 'react'
import { Button } from '@/components/ui/button'
import { cn } from '@/lib/cn'
import { Refusal } from '@/lib/errors'

const pause = 60

/** How many seconds are left of the minute after a mail was sent. */
function pauseAfter(sentAt: number): number {
  return Math.min(pause, Math.max(0, Math.ceil(pause - (Date.now() - sentAt) / 1000)))
}

interface ResendButtonProps {
  label: string
  /** When one was sent just now (milliseconds): the first minute is its. */
  sentAt?: number
  onSend: () => Promise<void>
}

/** Sends a mail again, at most once a minute. */
export function ResendButton({ label, sentAt, onSend }: ResendButtonProps) {
  const [left, setLeft] = useState(() => (sentAt === undefined ? 0 : pauseAfter(sentAt)))
  const [sending, setSending] = useState(false)
  const [said, setSaid] = useState<{ text: string; failed: boolean } | null>(null)
  useEffect(() => {
    if (left === 0) return
    const timer = setTimeout(() => setLeft(left - 1), 1000)
    return () => clearTimeout(timer)
  }, [left])

  async function send(): Promise<void> {
    setSending(true)
    setSaid(null)
    try {
      await onSend()
      setSaid({ text: 'Sent.', failed: false })
      setLeft(pause)
    } catch (error) {
      console.error(error)
      // Asked too soon: one was sent within the minute, from here or elsewhere.
      if (error instanceof Refusal && error.status === 429) setLeft(pause)
      else setSaid({ text: 'The email could not be sent. Try again in a minute.', failed: true })
    } finally {
      setSending(false)
    }
  }

  return (
    <div className="flex flex-wrap items-center gap-3">
      <Button
        variant="outline"
        busy={sending && 'Sending...'}
        aria-disabled={left > 0}
        onClick={() => void send()}
      >
        {left > 0 ? `${label} in ${left} s` : label}
      </Button>
      <span
        role="status"
        className={cn('empty:hidden', said?.failed ? 'text-destructive' : 'text-muted-foreground')}
      >
        {said?.text}
      </span>
    </div>
  )
}
