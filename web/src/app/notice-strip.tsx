import { TriangleAlert, WifiOff } from 'lucide-react'
import { useQuery } from '@tanstack/react-query'
import { useLocation } from 'react-router'
import { accountStatusQuery } from '@/features/auth/api'
import { emailChangeQuery, emailChangeText } from '@/lib/email-change'
import { paths } from '@/lib/paths'
import { depositsClosedText, usePlatform } from '@/lib/platform'
import { memberSession } from '@/lib/session'
import { useStore } from '@/lib/store'
import { offlineSince, useOnline } from '@/lib/use-online'

function useNotice(): { text: string; offline?: boolean } | null {
  const online = useOnline()
  const { pathname } = useLocation()
  const { status, newEmail, userId } = useStore(memberSession)
  const platform = usePlatform()
  const account = useQuery({ ...accountStatusQuery(userId ?? ''), enabled: status === 'member' })
  const change = useQuery({ ...emailChangeQuery, enabled: status === 'member' && newEmail !== null })
  if (!online) {
    return { text: offlineSince(account.dataUpdatedAt), offline: true }
  }
  if (account.data?.account_status === 'pending') {
    return {
      text: 'Your account is pending. You can look around; deposits and withdrawals open once it is active.',
    }
  }
  // The profile says it too, with what can be done.
  if (change.data && pathname !== paths.profile) return { text: emailChangeText(change.data) }
  // The deposit page says it in place of its form.
  if (status === 'member' && platform.data?.deposits_open === false && pathname !== paths.deposit) {
    return { text: depositsClosedText }
  }
  return null
}

/** One line about the state of the account, the most pressing one. */
export default function NoticeStrip() {
  const notice = useNotice()
  const Icon = notice?.offline ? WifiOff : TriangleAlert
  return (
    <div role="status" className="empty:hidden">
      {notice ? (
        <div className="border-b bg-warning-soft">
          <p className="page-gutter mx-auto flex max-w-[1168px] items-center gap-2.5 py-2 text-compact">
            <Icon className="size-4 stroke-[1.75] text-warning" aria-hidden />
            {notice.text}
          </p>
        </div>
      ) : null}
    </div>
  )
}
