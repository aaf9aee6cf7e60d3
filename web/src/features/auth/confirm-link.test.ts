import { describe, expect, it } from 'vitest'
import { readMailLink } from './confirm-link'

const site = 'https://harborline.example'

function read(values: Record<string, string>) {
  return readMailLink(`?${new URLSearchParams(values)}`, site, site)
}

describe('readMailLink', () => {
  it.each([
    ['https://harborline.example/reset-password', '/reset-password'],
    ['https://harborline.example/dashboard?view=compact#access_token=planted', '/dashboard?view=compact'],
    ['https://harborline.example/', '/'],
    ['', '/dashboard'],
    ['https://harborline.example/no-such-page', '/dashboard'],
    ['https://harborline.example/auth/confirm', '/dashboard'],
    ['//[', '/dashboard'],
    ['myapp://signed-in', '/dashboard'],
    ['javascript:alert(1)', '/dashboard'],
  ])('leads to a page of this site: %s', (redirect_to, page) => {
    expect(read({ token_hash: 'abc', type: 'recovery', redirect_to })).toMatchObject({ page, site: null })
  })

  it.each([
    ['https://app.example.org/welcome', 'app.example.org'],
    ['http://harborline.example/dashboard', 'harborline.example'],
    ['//app.example.org/dashboard', 'app.example.org'],
    [String.raw`https:\\app.example.org\dashboard`, 'app.example.org'],
  ])('leaves another site to the auth service: %s', (redirect_to, other) => {
    const link = read({ token_hash: 'abc', type: 'signup', redirect_to })
    expect(link).toMatchObject({ page: null, site: other })
    const address = new URL(link?.serviceAddress ?? '')
    expect(address.origin + address.pathname).toBe(`${site}/auth/v1/verify`)
    expect(Object.fromEntries(address.searchParams)).toEqual({ token: 'abc', type: 'signup', redirect_to })
  })

  it('leaves a link that was asked for with PKCE to the auth service', () => {
    const redirect_to = `${site}/dashboard`
    expect(read({ token_hash: 'pkce_abc', type: 'magiclink', redirect_to })).toMatchObject({
      page: null,
      site: null,
    })
  })

  it('knows what is missing', () => {
    expect(read({ type: 'signup' })).toBeNull()
    expect(read({ token_hash: 'abc' })).toBeNull()
    expect(read({ token_hash: 'abc', type: 'reauthentication' })).toBeNull()
  })
})
