import { hasCode, Refusal, toRefusal } from './errors'
import { Store } from './store'
import { linkClient, memberClient, type Client } from './supabase'

/** An act that waits until the member has proved who they are. */
export interface ProofRequest {
  /** It must be done as this page's own session: what else it needs of the password goes with the act. */
  isOwn: boolean
  /** Does it as the client that proved it. Rejects only where the proof was not enough. */
  proceed: (client: Client) => Promise<void>
  cancel: () => void
}

/** What the page has to ask. */
export const proofRequest = new Store<ProofRequest | null>(null)

/** What the server says where the password, or the code of a device, was not given in the last minutes. */
export function needsProof(error: unknown): boolean {
  return hasCode(error, 'reauthentication_needed', 'current_password_required')
}

const cancelled = 'proof_cancelled'

/** The member thought better of it: nothing was done, and nothing is to be said. */
export function isCancelled(error: unknown): boolean {
  return hasCode(error, cancelled)
}

/**
 * Does what may need a fresh proof. When the server asks for one, the page asks the member over what it shows, and the
 * act goes on with what was typed. Rejects with an error that `isCancelled` knows when they do not give it. `isOwn`
 * keeps the act in this page's own session.
 */
export async function withProof<T>(act: (client: Client) => Promise<T>, isOwn = false): Promise<T> {
  try {
    return await act(await memberClient())
  } catch (error) {
    // Its own password went with the act; one that is lacking is another matter.
    if (!needsProof(error) || (isOwn && hasCode(error, 'current_password_required'))) throw error
  }
  proofRequest.get()?.cancel()
  return new Promise<T>((resolve, reject) => {
    proofRequest.set({
      isOwn,
      async proceed(client) {
        try {
          resolve(await act(client))
        } catch (error) {
          if (needsProof(error)) throw error
          reject(error instanceof Error ? error : new Error(String(error)))
        }
        proofRequest.set(null)
      },
      cancel() {
        proofRequest.set(null)
        reject(new Refusal('', 0, cancelled))
      },
    })
  })
}

interface Code {
  factorId: string
  code: string
}

interface Proof {
  email: string
  password: string | null
  code: Code | null
}

async function answerCode(client: Client, code: Code): Promise<void> {
  const { error } = await client.auth.mfa.challengeAndVerify(code)
  if (error) throw toRefusal(error)
}

/**
 * Proves it, and does `work` as the client that did. A code alone is shown by this page's own session, which stays the
 * same. A password signs in apart, in a client that keeps nothing, and that session ends with the work.
 */
export async function prove(
  { email, password, code }: Proof,
  work: (client: Client) => Promise<void>,
): Promise<void> {
  if (password === null) {
    const own = await memberClient()
    if (code) await answerCode(own, code)
    return work(own)
  }
  const fresh = await linkClient()
  const { error } = await fresh.auth.signInWithPassword({ email, password })
  if (error) throw toRefusal(error)
  try {
    if (code) await answerCode(fresh, code)
    await work(fresh)
  } finally {
    await fresh.auth.signOut({ scope: 'local' }).catch(() => null)
  }
}
