import { useEffect } from 'react'
import { Link, Navigate, Outlet, useLocation } from 'react-router'
import { Notice } from '@/components/notice'
import { Button } from '@/components/ui/button'
import { Dialog, DialogContent } from '@/components/ui/dialog'
import { Skeleton } from '@/components/ui/skeleton'
import { arrival } from '@/lib/arrival'
import { paths, signInPath } from '@/lib/paths'
import { memberSession } from '@/lib/session'
import { useStore } from '@/lib/store'

function Waiting() {
  return (
    <div aria-busy className="page-gutter mx-auto flex max-w-[1168px] flex-col gap-4 py-8">
      <span role="status" className="sr-only">
        Loading
      </span>
      <Skeleton className="h-9 w-72" />
      <Skeleton className="h-5 w-96 max-w-full" />
    </div>
  )
}

function SessionEnded({ target }: { target: string }) {
  return (
    <Dialog open>
      <DialogContent
        title="Your session ended. Sign in to continue."
        closable={false}
        onEscapeKeyDown={(event) => event.preventDefault()}
        onInteractOutside={(event) => event.preventDefault()}
        footer={
          <Button asChild>
            <Link to={signInPath(target)}>Sign in</Link>
          </Button>
        }
      >
        <p className="text-muted-foreground">This page stays as it is behind this message.</p>
      </DialogContent>
    </Dialog>
  )
}

/** What the mail link did that brought the member here. */
function ArrivedByMail() {
  const confirmed = arrival.linkType === 'signup' || arrival.linkType === 'email_change'
  const text = confirmed ? 'Email confirmed' : arrival.message
  if (!text) return null
  return (
    <div className="page-gutter mx-auto max-w-[1168px] pt-6">
      <Notice tone={confirmed ? 'positive' : 'info'} role="status">
        {text}
      </Notice>
    </div>
  )
}

/**
 * Members only. The session is read before anything is decided, so that a mail link that signs in with the
 * fragment of its address is not sent to the sign-in page.
 */
export function MemberGuard() {
  const { status, userId, left } = useStore(memberSession)
  const location = useLocation()
  const target = location.pathname + location.search + location.hash
  useEffect(() => {
    void memberSession.start()
  }, [])
  if (status === 'loading') return <Waiting />
  if (status === 'none' && left) return <Navigate to={paths.home} replace />
  if (status === 'none' || status === 'code') return <Navigate to={signInPath(target)} replace />
  return (
    <>
      {location.pathname === paths.dashboard ? <ArrivedByMail /> : null}
      <Outlet key={userId} />
      {status === 'ended' ? <SessionEnded target={target} /> : null}
    </>
  )
}
