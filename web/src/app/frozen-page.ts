import { administratorSession } from '@/lib/administrator-session'
import { memberSession, storedUserId } from '@/lib/session'
import { queryClient } from './query-client'

const whose = () => `${storedUserId() ?? ''} ${administratorSession.stored()?.session_token ?? ''}`

/**
 * Going back shows the page as the browser froze it. It is hidden while it is frozen, and shown again only to whom it
 * showed itself before; for anybody else, and after a sign-out, it is loaded anew.
 */
export function guardFrozenPage(): void {
  let before = ''
  addEventListener('pagehide', () => {
    before = whose()
    document.documentElement.style.visibility = 'hidden'
  })
  addEventListener('pageshow', (event) => {
    if (!event.persisted) return
    if (whose() !== before || memberSession.get().left) {
      location.reload()
      return
    }
    document.documentElement.style.visibility = ''
    void queryClient.invalidateQueries()
  })
}
