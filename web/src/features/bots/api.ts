import { queryOptions, useMutation } from '@tanstack/react-query'
import { unwrap } from '@/lib/errors'
import { memberKey, useRefreshMember } from '@/lib/member'
import { callFunction, memberClient } from '@/lib/supabase'

export type BotName = 'Scout' | 'Ranger' | 'Sentinel'

export interface BotSubscription {
  id: string
  bot_name: BotName
  status: 'active' | 'suspended'
  mt5_server: string
  mt5_login: string
  subscribed_at: string
}

const patience = 15_000

/** The member's running subscriptions. Gives up after 15 s. */
export function subscriptionsQuery(userId: string) {
  return queryOptions({
    queryKey: [memberKey, 'bots'],
    queryFn: async () => {
      const client = await memberClient()
      const answer = await client
        .rpc('get_user_bot_subscriptions', { p_user_id: userId })
        .abortSignal(AbortSignal.timeout(patience))
      return unwrap(answer) as unknown as BotSubscription[]
    },
    enabled: userId !== '',
    retry: false,
    meta: { errorToast: 'Failed to load bot subscriptions' },
  })
}

export interface Mt5Account {
  server: string
  login: string
  password: string
}

interface BotChange {
  bot: BotName
  /** null to unsubscribe; the kept password is then erased. */
  account: Mt5Account | null
}

async function changeSubscription({ bot, account }: BotChange): Promise<void> {
  const client = await memberClient()
  await callFunction(client, 'bot-subscription', {
    bot_name: bot,
    action: account ? 'subscribe' : 'unsubscribe',
    mt5_server: account?.server ?? '',
    mt5_login: account?.login ?? '',
    mt5_password: account?.password ?? '',
  })
}

export function useChangeSubscription() {
  const refresh = useRefreshMember()
  return useMutation({ mutationFn: changeSubscription, onSuccess: () => void refresh() })
}
