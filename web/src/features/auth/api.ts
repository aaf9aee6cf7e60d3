import { queryOptions } from '@tanstack/react-query'
import type { AuthError } from '@supabase/supabase-js'
import { toRefusal, unwrap } from '@/lib/errors'
import { paths } from '@/lib/paths'
import { withProof } from '@/lib/proof'
import { memberSession } from '@/lib/session'
import { linkClient, memberClient } from '@/lib/supabase'
import type { LinkKind } from './confirm-link'

export interface AccountStatus {
  account_status: 'active' | 'pending' | 'suspended' | 'disabled'
  /** The sentence to show when the account is blocked, else null. */
  message: string | null
  code: string | null
}

export interface Sponsor {
  id: string
  username: string | null
  display_name: string | null
}

type AuthAnswer = { data: unknown; error: AuthError | null }

/** The data of an auth answer, or a thrown Refusal. */
function ok<A extends AuthAnswer>(answer: A): Extract<A, { error: null }>['data'] {
  if (answer.error) throw toRefusal(answer.error)
  return answer.data
}

export async function fetchAccountStatus(): Promise<AccountStatus> {
  const client = await memberClient()
  return unwrap(await client.rpc('get_my_account_status')) as AccountStatus
}

export const accountStatusQuery = (userId: string) =>
  queryOptions({ queryKey: ['account-status', userId], queryFn: fetchAccountStatus, staleTime: 5 * 60_000 })

export async function signIn(email: string, password: string): Promise<void> {
  await memberSession.start()
  const client = await memberClient()
  ok(await client.auth.signInWithPassword({ email, password }))
}

export async function signOut(): Promise<void> {
  const client = await memberClient()
  const { error } = await client.auth.signOut()
  if (error) throw toRefusal(error)
}

export interface SignUp {
  email: string
  password: string
  displayName: string
  username: string
  referrerId: string
}

/** Creates the account. The server says what is wrong with it (specification S11.1, S25.1). */
export async function signUp(values: SignUp): Promise<{ alreadyKnown: boolean }> {
  const client = await memberClient()
  const data = ok(
    await client.auth.signUp({
      email: values.email,
      password: values.password,
      options: {
        emailRedirectTo: location.origin + paths.dashboard,
        data: {
          display_name: values.displayName,
          username: values.username,
          package_value: 0,
          referrer_id: values.referrerId,
        },
      },
    }),
  )
  return { alreadyKnown: data.user?.identities?.length === 0 }
}

/** The sponsor with exactly this id or username, or null. */
async function fetchSponsor(code: string): Promise<Sponsor | null> {
  const client = await memberClient()
  const rows = unwrap(await client.rpc('get_sponsor', { p_referral_code: code })) as unknown as Sponsor[]
  return rows[0] ?? null
}

export const sponsorQuery = (code: string) =>
  queryOptions({ queryKey: ['sponsor', code], queryFn: () => fetchSponsor(code), staleTime: 5 * 60_000 })

/**
 * Opens a link apart from the page's own session. Returns the page it leads to with what came of it in the fragment, as
 * the auth service's own redirect does: whose session it becomes is decided there (link-session.ts).
 */
export async function openMailLink(type: LinkKind, tokenHash: string, page: string): Promise<string> {
  const apart = await linkClient()
  const { session, user } = ok(await apart.auth.verifyOtp({ type, token_hash: tokenHash }))
  const { access_token, refresh_token } = session ?? {}
  // Without a session it is the first of the two links of a change of address, and the reply says so.
  const outcome: Record<string, string> =
    access_token && refresh_token
      ? { access_token, refresh_token, type }
      : { message: String((user as { msg?: unknown } | null)?.msg) }
  return `${page}#${new URLSearchParams(outcome)}`
}

interface MailCode {
  type: 'signup' | 'recovery'
  email: string
  code: string
  /** The page that is next. */
  address: string
}

/** Signs in with the six digits of an email. False where somebody else is signed in, and is asked first. */
export function openMailCode({ type, email, code, address }: MailCode): Promise<boolean> {
  return memberSession.take({
    type,
    address,
    open: async (apart) => ok(await apart.auth.verifyOtp({ type, email, token: code })).session,
  })
}

/** Sends the sign-up confirmation again. */
export async function resendConfirmation(email: string): Promise<void> {
  const client = await memberClient()
  ok(
    await client.auth.resend({
      type: 'signup',
      email,
      options: { emailRedirectTo: location.origin + paths.dashboard },
    }),
  )
}

export async function requestPasswordReset(email: string): Promise<void> {
  const client = await memberClient()
  ok(await client.auth.resetPasswordForEmail(email, { redirectTo: location.origin + paths.resetPassword }))
}

/** Sets the password of a session that a recovery link opened, then ends every other sign-in. */
export async function setNewPassword(password: string): Promise<void> {
  await withProof(async (client) => {
    ok(await client.auth.updateUser({ password }))
    await client.auth.signOut({ scope: 'others' })
  }, true)
}

/** How long the code of a new device counts only with the password. */
const newFor = 24 * 3_600_000

interface Factor {
  id: string
  name: string
  isNew: boolean
}

async function fetchFactors(): Promise<Factor[]> {
  const client = await memberClient()
  const data = ok(await client.auth.mfa.listFactors())
  return data.totp.map((factor) => ({
    id: factor.id,
    name: factor.friendly_name ?? 'Device',
    isNew: Date.now() - Date.parse(factor.updated_at) < newFor,
  }))
}

export const factorsQuery = queryOptions({ queryKey: ['factors'], queryFn: fetchFactors, staleTime: 0 })

/** Answers the second factor; the session is then a full one. */
export async function verifyCode(factorId: string, code: string): Promise<void> {
  const client = await memberClient()
  ok(await client.auth.mfa.challengeAndVerify({ factorId, code }))
}
