import { useMutation } from '@tanstack/react-query'
import { useRefreshMember } from '@/lib/member'
import { Store } from '@/lib/store'
import { callFunction, memberClient } from '@/lib/supabase'

interface SyncAnswer {
  success: boolean
  summary: { totalBonuses: number; totalProfiles: number }
}

const patience = 30_000

/** Asks the server to reconcile all bonuses; gives up after 30 s. It changes nothing when all is right. */
async function syncBonuses(): Promise<SyncAnswer> {
  const client = await memberClient()
  let timer: ReturnType<typeof setTimeout> | undefined
  const tooLate = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('The sync took longer than 30 seconds.')), patience)
  })
  try {
    const answer = await Promise.race([callFunction<SyncAnswer>(client, 'sync-all-mlm-bonuses'), tooLate])
    if (!answer.success) throw new Error('The sync did not finish.')
    return answer
  } finally {
    clearTimeout(timer)
  }
}

/** When this page last heard that all bonuses are as they should be; null until then. */
export const syncedAt = new Store<Date | null>(null)

export function useSyncBonuses() {
  const refresh = useRefreshMember()
  return useMutation({
    mutationFn: syncBonuses,
    onSuccess: () => {
      syncedAt.set(new Date())
      return refresh()
    },
  })
}
