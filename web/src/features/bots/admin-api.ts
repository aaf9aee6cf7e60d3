import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { TablePage } from '@/components/data-table/types'
import type { ListRequest } from '@/components/data-table/use-admin-list'
import { adminKey } from '@/lib/admin-overview'
import { unwrap } from '@/lib/errors'
import { administratorClient, callFunction } from '@/lib/supabase'

type SubscriptionStatus = 'active' | 'suspended' | 'cancelled'

/** A bot subscription as administrators see it: the password's length, never the password. */
export interface AdminSubscription {
  id: string
  profile_id: string
  username: string
  email: string | null
  display_name: string | null
  bot_name: string
  status: SubscriptionStatus
  mt5_server: string
  mt5_login: string
  mt5_password_length: number
  subscribed_at: string
}

export type SubscriptionPage = TablePage<AdminSubscription> & { counts: Record<SubscriptionStatus, number> }

export async function listSubscriptions(request: ListRequest): Promise<SubscriptionPage> {
  const client = await administratorClient()
  return unwrap(await client.rpc('list_subscriptions', { p_filters: request })) as unknown as SubscriptionPage
}

/** Opens one MT5 password; the look is recorded. */
export async function revealPassword(subscriptionId: string): Promise<string> {
  const client = await administratorClient()
  const { password } = await callFunction<{ password: string }>(client, 'admin-reveal-mt5-password', {
    subscriptionId,
  })
  return password
}

interface StatusChange {
  subscriptionId: string
  status: 'active' | 'suspended'
  reason: string
}

export function useSubscriptionStatus() {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: async (change: StatusChange) =>
      callFunction(await administratorClient(), 'admin-update-subscription', { ...change }),
    onSuccess: () => queries.invalidateQueries({ queryKey: [adminKey] }),
    meta: { realm: 'administrator' },
  })
}
