import { useEffect, useRef, useState } from 'react'
import { Button } from '@/components/ui/button'
import { Dialog, DialogContent } from '@/components/ui/dialog'
import { administratorSession } from '@/lib/administrator-session'
import { Refusal } from '@/lib/errors'
import { stored } from '@/lib/stored'
import { touchSession } from './api'

const minute = 60_000
const idleEnd = 30 * minute
const warnBefore = 2 * minute
const signs = ['pointerdown', 'keydown', 'wheel', 'touchstart'] as const
const key = 'harborline-admin-seen'

function touch(): void {
  touchSession().catch((error: unknown) => {
    if (error instanceof Refusal && error.status === 401) administratorSession.clear()
  })
}

/**
 * Keeps the session while a person is active in any tab, warns two minutes before the 30 idle minutes are over,
 * then ends it here. The server ends it by its own clock whatever this page does.
 */
export function IdleWatch() {
  const lastSeen = useRef(0)
  const lastTouch = useRef(0)
  const [warned, setWarned] = useState(false)

  function seen() {
    lastSeen.current = Date.now()
    if (lastSeen.current - lastTouch.current < minute) return
    lastTouch.current = lastSeen.current
    // The tabs have one session: an idle one must know that another is in use.
    stored.set(key, String(lastSeen.current))
    touch()
  }

  useEffect(() => {
    for (const sign of signs) addEventListener(sign, seen, { passive: true })
    lastSeen.current = Date.now()
    const clock = setInterval(() => {
      const idle = Date.now() - Math.max(lastSeen.current, Number(stored.get(key)))
      if (idle >= idleEnd) administratorSession.endIdle()
      else setWarned(idle >= idleEnd - warnBefore)
    }, 5000)
    return () => {
      for (const sign of signs) removeEventListener(sign, seen)
      clearInterval(clock)
    }
  }, [])

  function stay() {
    lastTouch.current = 0
    seen()
    setWarned(false)
  }

  return (
    <Dialog open={warned} onOpenChange={(open) => !open && stay()}>
      <DialogContent title="Are you still there?" footer={<Button onClick={stay}>Stay signed in</Button>}>
        <p>You will be signed out after 30 minutes without activity, in less than two minutes.</p>
      </DialogContent>
    </Dialog>
  )
}
