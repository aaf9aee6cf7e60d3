import { lazy, Suspense, useEffect, useState } from 'react'
import { Navigate, Outlet, useLocation } from 'react-router'
import { AccountName } from '@/components/account-name'
import { Notice } from '@/components/notice'
import { loadPopover } from '@/components/ui/popover'
import { arrival } from '@/lib/arrival'
import { paths, signInPath } from '@/lib/paths'
import { memberSession } from '@/lib/session'
import { useStore } from '@/lib/store'
import { useAccount } from '@/lib/use-account'
import { Waiting } from './waiting'

const loadSignInAgain = () => import('@/features/auth/sign-in-again')
const SignInAgain = lazy(loadSignInAgain)
const loadItsRules = () =>
  Promise.all([import('@/features/auth/sign-in-schema'), import('@hookform/resolvers/zod')])

// The first page comes first, but a network that fails later must not keep a dialog away.
const untilSpare = 5000

let isRead = false

/** What the mail link did that brought the member here; until the first page is left. */
function ArrivedByMail() {
  const { linkType } = useStore(memberSession)
  const [isNews] = useState(!isRead)
  useEffect(
    () => () => {
      isRead = true
    },
    [],
  )
  const confirmed = linkType === 'signup' || linkType === 'email_change'
  const text = confirmed ? 'Email confirmed' : arrival.message
  if (!text || !isNews) return null
  return (
    <div className="page-gutter mx-auto max-w-[1168px] pt-6">
      <Notice tone={confirmed ? 'positive' : 'info'} role="status">
        {text}
      </Notice>
    </div>
  )
}

/** Another tab signed in as somebody else: said by name, as nothing else on the page need look different. */
function AccountChanged() {
  const { data: account } = useAccount()
  if (!account) return null
  return (
    <div className="page-gutter mx-auto max-w-[1168px] pt-6">
      <Notice tone="info" role="status">
        You are now signed in as <AccountName {...account} />. This page now acts for that account.
      </Notice>
    </div>
  )
}

/**
 * Members only. The session is read before anything is decided, so that who follows a mail link is not sent to
 * the sign-in page.
 */
export function MemberGuard() {
  const { status, userId, left } = useStore(memberSession)
  const location = useLocation()
  const target = location.pathname + location.search + location.hash
  // Whose page stands here; it stays when the session ends or owes a code, until it is somebody else's.
  const [owner, setOwner] = useState<string | null>(null)
  // The page on which it became another account's; the next page is new anyway.
  const [changedOn, setChangedOn] = useState<string | null>(null)
  if (status === 'member' && owner !== userId) {
    setOwner(userId)
    setChangedOn(owner === null ? null : location.key)
  }
  useEffect(() => {
    void memberSession.start()
    const load = () => void Promise.all([loadSignInAgain(), loadItsRules(), loadPopover()]).catch(() => null)
    const timer = setTimeout(load, untilSpare)
    return () => clearTimeout(timer)
  }, [])
  if (status === 'loading') return <Waiting />
  // Who signs out is led to the landing page.
  if (status === 'none' && left) return <Waiting />
  if (status === 'none' || (status === 'code' && owner !== userId))
    return <Navigate to={signInPath(target)} replace />
  return (
    <>
      {location.pathname === paths.dashboard ? <ArrivedByMail /> : null}
      {changedOn === location.key ? <AccountChanged /> : null}
      <Outlet key={userId} />
      {status === 'member' ? null : (
        <Suspense>
          <SignInAgain />
        </Suspense>
      )}
    </>
  )
}
