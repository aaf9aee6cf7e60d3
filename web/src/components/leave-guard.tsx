import { useEffect } from 'react'
import { useBlocker } from 'react-router'
import { Button } from './ui/button'
import { Dialog, DialogContent } from './ui/dialog'

interface LeaveGuardProps {
  when: boolean
  /** The person leaves all the same. */
  onLeave?: () => void
}

/** Asks before leaving a page with something typed and not sent. */
export function LeaveGuard({ when, onLeave }: LeaveGuardProps) {
  const blocker = useBlocker(
    ({ currentLocation, nextLocation }) => when && currentLocation.pathname !== nextLocation.pathname,
  )
  useEffect(() => {
    if (!when) return
    const ask = (event: BeforeUnloadEvent) => event.preventDefault()
    addEventListener('beforeunload', ask)
    return () => removeEventListener('beforeunload', ask)
  }, [when])
  if (blocker.state !== 'blocked') return null
  return (
    <Dialog open onOpenChange={(open) => !open && blocker.reset()}>
      <DialogContent
        title="Leave without saving?"
        footer={
          <>
            <Button variant="outline" onClick={() => blocker.reset()}>
              Stay
            </Button>
            <Button
              variant="destructive"
              onClick={() => {
                onLeave?.()
                blocker.proceed()
              }}
            >
              Leave
            </Button>
          </>
        }
      >
        <p className="text-muted-foreground">Your changes on this page have not been submitted.</p>
      </DialogContent>
    </Dialog>
  )
}
