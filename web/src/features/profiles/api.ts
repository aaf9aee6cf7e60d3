import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { emailChangeQuery } from '@/lib/email-change'
import { toRefusal, unwrap } from '@/lib/errors'
import { memberKey, useRefreshMember } from '@/lib/member'
import { paths } from '@/lib/paths'
import { withProof } from '@/lib/proof'
import { memberClient } from '@/lib/supabase'
import { toasts } from '@/lib/toast-queue'

interface ProfileChange {
  userId: string
  username: string
  email: string
  /** The address signed in with now. */
  presentEmail: string
}

/**
 * A new address is first started at the auth service, which mails a link to each of both; only then does the profile take it,
 * and stores it once it is confirmed. The username is saved at once.
 */
async function updateProfile(change: ProfileChange): Promise<{ confirm: boolean }> {
  const client = await memberClient()
  const confirm = change.email.toLowerCase() !== change.presentEmail.toLowerCase()
  if (confirm) {
    await withProof(async (proved) => {
      const { error } = await proved.auth.updateUser(
        { email: change.email },
        { emailRedirectTo: location.origin + paths.emailConfirmed },
      )
      if (error) throw toRefusal(error)
    })
    // This page's session shows the address that waits, whichever client asked for it.
    await client.auth.refreshSession()
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

async function resendEmailChange(email: string): Promise<void> {
  const client = await memberClient()
  const { error } = await client.auth.resend({
    type: 'email_change',
    email,
    options: { emailRedirectTo: location.origin + paths.emailConfirmed },
  })
  if (error) throw toRefusal(error)
}

/** Both links anew: those that were sent before open nothing any more, and what was opened counts no longer. */
export function useResendEmailChange(): (email: string) => Promise<void> {
  const queries = useQueryClient()
  return async (email) => {
    await resendEmailChange(email)
    await queries.invalidateQueries({ queryKey: emailChangeQuery.queryKey })
  }
}

/** Takes a waiting change of address back: its links open nothing any more. */
async function cancelEmailChange(): Promise<void> {
  const client = await memberClient()
  unwrap(await client.rpc('cancel_email_change'))
  // The session still carries the address that waited.
  const { error } = await client.auth.refreshSession()
  if (error) throw toRefusal(error)
}

export function useCancelEmailChange() {
  return useMutation({
    mutationFn: cancelEmailChange,
    onSuccess: () => toasts.success('Your email stays as it is'),
    onError: () => toasts.error('The change could not be cancelled. Please try again.'),
  })
}

interface MailChoice {
  topic: string
  label: string
  wanted: boolean
}

export const mailChoicesQuery = queryOptions({
  queryKey: [memberKey, 'mail-choices'],
  queryFn: async () =>
    unwrap(await (await memberClient()).rpc('get_mail_choices')) as unknown as MailChoice[],
})

export function useSetMailChoice() {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: async ({ topic, wanted }: Pick<MailChoice, 'topic' | 'wanted'>) => {
      const client = await memberClient()
      return unwrap(
        await client.rpc('set_mail_choice', { p_topic: topic, p_wanted: wanted }),
      ) as unknown as MailChoice[]
    },
    onSuccess: (choices) => queries.setQueryData(mailChoicesQuery.queryKey, choices),
    onError: () => toasts.error('Your choice was not saved. Please try again.'),
  })
}

interface WalletChange {
  userId: string
  wallet: string
}

async function updateWallet({ userId, wallet }: WalletChange): Promise<void> {
  await withProof(async (client) => {
    const { error, status } = await client
      .from('profiles')
      .update({ trc20_wallet_address: wallet })
      .eq('user_id', userId)
    if (error) throw toRefusal(error, status)
  })
}

export function useUpdateWallet() {
  const refresh = useRefreshMember()
  return useMutation({ mutationFn: updateWallet, onSuccess: () => void refresh() })
}
