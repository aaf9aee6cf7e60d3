import { useMutation } from '@tanstack/react-query'
import { toRefusal, unwrap } from '@/lib/errors'
import { useRefreshMember, type HistoryItem } from '@/lib/member'
import { paths } from '@/lib/paths'
import { memberClient } from '@/lib/supabase'

interface ProfileChange {
  userId: string
  username: string
  email: string
  /** The address signed in with now. */
  presentEmail: string
}

/**
 * A new address is first started at the auth service, which mails a link; only then does the profile take it,
 * and stores it once it is confirmed. The username is saved at once.
 */
async function updateProfile(change: ProfileChange): Promise<{ confirm: boolean }> {
  const client = await memberClient()
  const confirm = change.email.toLowerCase() !== change.presentEmail.toLowerCase()
  if (confirm) {
    const { error } = await client.auth.updateUser(
      { email: change.email },
      { emailRedirectTo: location.origin + paths.emailConfirmed },
    )
    if (error) throw toRefusal(error)
  }
  const { error, status } = await client
    .from('profiles')
    .update({ username: change.username, email: change.email })
    .eq('user_id', change.userId)
  if (error) throw toRefusal(error, status)
  return { confirm }
}

export function useUpdateProfile() {
  const refresh = useRefreshMember()
  return useMutation({ mutationFn: updateProfile, onSuccess: () => void refresh() })
}

export async function resendEmailChange(email: string): Promise<void> {
  const client = await memberClient()
  const { error } = await client.auth.resend({
    type: 'email_change',
    email,
    options: { emailRedirectTo: location.origin + paths.emailConfirmed },
  })
  if (error) throw toRefusal(error)
}

interface WalletChange {
  userId: string
  wallet: string
  /** Given when the server wants a fresh sign-in before it replaces an address. */
  proof: { email: string; password: string } | null
}

async function updateWallet({ userId, wallet, proof }: WalletChange): Promise<void> {
  const client = await memberClient()
  if (proof) {
    const { error } = await client.auth.signInWithPassword(proof)
    if (error) throw toRefusal(error)
  }
  const { error, status } = await client
    .from('profiles')
    .update({ trc20_wallet_address: wallet })
    .eq('user_id', userId)
  if (error) throw toRefusal(error, status)
}

export function useUpdateWallet() {
  const refresh = useRefreshMember()
  return useMutation({ mutationFn: updateWallet, onSuccess: () => void refresh() })
}

interface HistoryPage {
  items: HistoryItem[]
  next: string | null
}

/** Everything the product shows a member about themselves, read page by page. */
export async function collectMyData(onProgress: (rows: number) => void): Promise<unknown> {
  const client = await memberClient()
  const account = unwrap(await client.rpc('get_member_dashboard'))
  const transactions: HistoryItem[] = []
  let before: string | null = null
  do {
    const page: HistoryPage = unwrap(
      await client.rpc('get_transaction_history', { p_before: before ?? undefined, p_limit: 100 }),
    ) as unknown as HistoryPage
    transactions.push(...page.items)
    onProgress(transactions.length)
    before = page.next
  } while (before !== null)
  const notifications = unwrap(await client.rpc('get_notifications', { p_limit: 100 }))
  return { exported_at: new Date().toISOString(), account, transactions, notifications }
}
