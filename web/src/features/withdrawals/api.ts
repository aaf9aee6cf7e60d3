import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { unwrap } from '@/lib/errors'
import { memberKey, useRefreshMember, type Balance, type Verification } from '@/lib/member'
import type { Decimal } from '@/lib/money'
import { memberClient } from '@/lib/supabase'
import type { StoredRequest } from '@/lib/use-one-request'

export interface PendingWithdrawal {
  id: string
  amount: Decimal
  wallet_address: string
  created_at: string
}

/** What a member may ask for now, and where it would go. */
export interface WithdrawOptions {
  verification: Verification
  balance: Balance
  wallet_address: string | null
  wallet_checksum_ok: boolean | null
  minimum: Decimal
  hold_until: string | null
  pending: PendingWithdrawal[]
}

export const withdrawOptionsQuery = queryOptions({
  queryKey: [memberKey, 'withdraw-options'],
  // Another tab may have sent one meanwhile.
  refetchOnWindowFocus: 'always',
  queryFn: async () =>
    unwrap(await (await memberClient()).rpc('get_withdraw_options')) as unknown as WithdrawOptions,
})

interface NewWithdrawal {
  /** Made here and kept for retries, so that pressing twice makes one request. */
  id: string
  /** The user whom the form names; the server refuses when another one is signed in by now. */
  userId: string
  amount: Decimal
  /** As the member saw it; the server refuses when the stored one is another by now. */
  address: string
}

/** The request as the server has it; null where it was taken but could not be read again. */
async function createWithdrawal(
  withdrawal: NewWithdrawal,
): Promise<(PendingWithdrawal & StoredRequest) | null> {
  const { id, userId, amount, address } = withdrawal
  const client = await memberClient()
  // Decimal text, which numeric reads exactly; the generated type only knows numbers.
  const exact = amount as unknown as number
  const written = await client
    .from('withdrawals')
    .upsert(
      { id, user_id: userId, amount: exact, wallet_address: address, status: 'pending' },
      { onConflict: 'id', ignoreDuplicates: true },
    )
  if (written.error) unwrap(written)
  const { data } = await client
    .from('withdrawals')
    .select('id, amount::text, wallet_address, created_at, status')
    .eq('id', id)
    .maybeSingle()
  return data
}

export function useCreateWithdrawal() {
  const queries = useQueryClient()
  const refresh = useRefreshMember()
  return useMutation({
    mutationFn: createWithdrawal,
    onSuccess: (made) => {
      if (made?.status !== 'pending') return
      // Shown from the server's own row at once, also where the network goes away before the next reading.
      queries.setQueryData(withdrawOptionsQuery.queryKey, (known) =>
        known?.pending.every(({ id }) => id !== made.id)
          ? { ...known, pending: [...known.pending, made] }
          : known,
      )
    },
    // Without an answer it may have arrived: the next reading says so.
    onSettled: () => void refresh(),
  })
}
