import type { Session } from '@supabase/supabase-js'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { byRefreshToken, endRecovery, linkTypeOf, takeLink } from './link-session'
import type { Client } from './supabase'

let sessions = 0

/** A session of this user, opened by this method. */
function sessionOf(user: string, method = 'otp'): Session {
  const claims = { session_id: `s${(sessions += 1)}`, amr: [{ method, timestamp: 1 }] }
  const access_token = `h.${btoa(JSON.stringify(claims))}.s`
  return { access_token, user: { id: user, email: `${user}@example.com` } } as unknown as Session
}

/** The page's client, with who is signed in. */
function pageClient(held: Session | null) {
  const setSession = vi.fn().mockResolvedValue({ error: null })
  const getSession = vi.fn().mockResolvedValue({ data: { session: held }, error: null })
  return { client: { auth: { getSession, setSession } } as unknown as Client, getSession, setSession }
}

/** The client apart, which exchanges the link's token for this session. */
function linkOpener(session: Session | null) {
  const signOut = vi.fn().mockResolvedValue({ error: null })
  const rows = { data: [{ display_name: 'Leo Marin', username: 'leo_marin' }], error: null }
  const from = () => ({ select: () => ({ eq: () => ({ limit: () => Promise.resolve(rows) }) }) })
  const auth = { refreshSession: vi.fn().mockResolvedValue({ data: { session } }), signOut }
  return { open: () => Promise.resolve({ auth, from } as unknown as Client), signOut }
}

const link = { type: 'magiclink', address: '/deposit', open: byRefreshToken('r') }
const recovery = { ...link, type: 'recovery' }

describe('takeLink', () => {
  it('signs in where nobody is', async () => {
    const [session, page] = [sessionOf('leo'), pageClient(null)]
    expect(await takeLink(page.client, link, linkOpener(session).open)).toBeNull()
    expect(page.setSession).toHaveBeenCalledExactlyOnceWith(session)
  })

  it('takes the newer session of the same account', async () => {
    const [session, page] = [sessionOf('mara'), pageClient(sessionOf('mara'))]
    expect(await takeLink(page.client, link, linkOpener(session).open)).toBeNull()
    expect(page.setSession).toHaveBeenCalledExactlyOnceWith(session)
  })

  it('offers another account by name and replaces nothing', async () => {
    const page = pageClient(sessionOf('mara', 'password'))
    const offer = await takeLink(page.client, link, linkOpener(sessionOf('leo')).open)
    expect(offer?.address).toBe('/deposit')
    expect(offer?.account).toEqual({
      userId: 'leo',
      displayName: 'Leo Marin',
      username: 'leo_marin',
      email: 'leo@example.com',
    })
    expect(page.setSession).not.toHaveBeenCalled()
  })

  it('ends the session of a link that was declined', async () => {
    const page = pageClient(sessionOf('mara'))
    const { open, signOut } = linkOpener(sessionOf('leo'))
    await (await takeLink(page.client, link, open))?.decline()
    expect(signOut).toHaveBeenCalledExactlyOnceWith({ scope: 'local' })
    expect(page.setSession).not.toHaveBeenCalled()
  })

  it('does not continue over an account that was not asked about', async () => {
    const [session, page] = [sessionOf('leo'), pageClient(sessionOf('mara'))]
    const offer = await takeLink(page.client, link, linkOpener(session).open)
    page.getSession.mockResolvedValue({ data: { session: sessionOf('nora') }, error: null })
    expect(await offer?.accept('mara')).toBe(false)
    expect(page.setSession).not.toHaveBeenCalled()
    expect(await offer?.accept('nora')).toBe(true)
    expect(page.setSession).toHaveBeenCalledExactlyOnceWith(session)
  })

  it('does nothing with a dead link, or when it cannot be read who is signed in', async () => {
    const page = pageClient(sessionOf('mara'))
    expect(await takeLink(page.client, link, linkOpener(null).open)).toBeNull()
    page.getSession.mockResolvedValue({ data: { session: null }, error: new Error('no network') })
    await expect(takeLink(page.client, link, linkOpener(sessionOf('leo')).open)).rejects.toThrow('no network')
    expect(page.setSession).not.toHaveBeenCalled()
  })
})

describe('linkTypeOf', () => {
  const held = new Map<string, string>()
  beforeEach(() => {
    held.clear()
    vi.stubGlobal('sessionStorage', {
      getItem: (key: string) => held.get(key) ?? null,
      setItem: (key: string, value: string) => held.set(key, value),
      removeItem: (key: string) => held.delete(key),
    })
  })

  it('knows the session of a recovery link until its password is set', async () => {
    const session = sessionOf('mara')
    await takeLink(pageClient(null).client, recovery, linkOpener(session).open)
    expect(linkTypeOf(session)).toBe('recovery')
    expect(linkTypeOf(sessionOf('mara'))).toBeNull()
    endRecovery()
    expect(linkTypeOf(session)).toBeNull()
  })

  it('does not take the word of an address for a session that a password opened', async () => {
    const session = sessionOf('mara', 'password')
    await takeLink(pageClient(null).client, recovery, linkOpener(session).open)
    expect(linkTypeOf(session)).toBeNull()
  })

  it('knows other links, and a recovery with a code', async () => {
    const session = sessionOf('mara')
    await takeLink(pageClient(null).client, { ...link, type: 'signup' }, linkOpener(session).open)
    expect(linkTypeOf(session)).toBe('signup')
    expect(linkTypeOf(sessionOf('mara', 'recovery'))).toBe('recovery')
    expect(linkTypeOf({ access_token: 'unreadable' })).toBeNull()
  })
})
