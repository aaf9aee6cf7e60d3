import { useEffect, useState } from 'react'
import { Button } from '@/components/ui/button'

const pause = 60

/** Sends a mail again, at most once a minute. */
export function ResendButton({ label, onSend }: { label: string; onSend: () => Promise<void> }) {
  const [left, setLeft] = useState(0)
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
      setSaid({ text: 'The email could not be sent. Try again in a minute.', failed: true })
    } finally {
      setSending(false)
    }
  }

  return (
    <div className="flex flex-wrap items-center gap-3">
      <Button
        variant="outline"
        busy={sending && 'Sending...'}
        disabled={left > 0}
        onClick={() => void send()}
      >
        {label}
      </Button>
      <span role="status" className={said?.failed ? 'text-destructive' : 'text-muted-foreground'}>
        {said?.text}
      </span>
      {left > 0 ? <span className="tabular text-muted-foreground">Again in {left} s</span> : null}
    </div>
  )
}
