import { queryOptions, useQuery, type UseQueryResult } from '@tanstack/react-query'
import { fetchAccount, type Account } from './account'
import { memberKey } from './member'
import { memberSession } from './session'
import { useStore } from './store'
import { memberClient } from './supabase'

/** Kept by the user's id, so that one account never stands under the name of another. */
export const accountQuery = (userId: string) =>
  queryOptions({
    queryKey: [memberKey, 'name', userId],
    queryFn: async () => fetchAccount(await memberClient(), userId),
  })

/** The account that is signed in. */
export function useAccount(): UseQueryResult<Account> {
  return useQuery(accountQuery(useStore(memberSession).userId ?? ''))
}
